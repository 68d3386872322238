from toolcrib.embedders import FastembedEmbedder, SentenceTransformersEmbedder
from toolcrib.errors import MissingExtraError

# Weights are loaded, and perhaps downloaded, at the first use; a package that is missing is told at once.
for make in (FastembedEmbedder, SentenceTransformersEmbedder):
    try:
        print(make("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2").id)
    except MissingExtraError as error:
        print(error, error.hint)  # ... pip install 'toolcrib[fastembed]'
