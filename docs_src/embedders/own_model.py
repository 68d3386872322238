from collections.abc import Sequence
from tempfile import TemporaryDirectory

import numpy as np

from toolcrib import Embedder
from toolcrib.embedders import CachedEmbedder
from toolcrib.search import Vectors


class LetterEmbedder:
    """Anything with these five names is an embedder. This one counts letters."""

    id = "letters:1"  # change it whenever the vectors change
    dimensions = 26
    remote = True  # a call may take long or fail

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        counts = [[text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts]
        vectors = np.array(counts, dtype=np.float32)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)


with TemporaryDirectory() as folder:
    model = LetterEmbedder()
    embedder: Embedder = CachedEmbedder(model, folder)
    embedder.embed_documents(["send a mail", "read a page"])
    embedder.embed_documents(["send a mail", "read a web page"])  # one tool has changed
    assert model.embedded == ["send a mail", "read a page", "read a web page"]

    next_run = LetterEmbedder()
    CachedEmbedder(next_run, folder).embed_documents(["read a web page", "send a mail"])
    assert next_run.embedded == []
