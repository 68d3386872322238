from toolcrib import ToolcribError
from toolcrib.embedders import OpenAIEmbedder

try:
    OpenAIEmbedder("text-embedding-3-small")
except ToolcribError as error:
    print(error)  # OpenAI's embeddings need a key, and none was given.
    print(error.hint)  # Pass `api_key`, or set OPENAI_API_KEY and call `OpenAIEmbedder.from_environment()`.
