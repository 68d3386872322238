from toolcrib.embedders import OpenAIEmbedder

# Any server that speaks OpenAI's protocol: here a local one, which needs no key. Nothing is asked before the first use.
embedder = OpenAIEmbedder(
    "bge-m3",
    base_url="http://localhost:11434/v1",
    timeout_seconds=20,
    retries=4,  # for documents; a query is repeated once at most
)
assert embedder.id == "openai:bge-m3@localhost:11434/v1#native"
embedder.close()
