"""Three bits a weight: groups of 32 share a half-precision scale. Fewer bits leave room for more rows."""

from pathlib import Path

import numpy as np

GROUP = 32
LEVELS = 3  # -3..3, so that zero is exact
PLACES = np.array([0, 3, 6, 9], dtype=np.uint16)  # of four weights in a code of twelve bits


def quantize(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers (`rows, dimensions`) and their scales (`rows, dimensions / GROUP`)."""
    grouped = table.reshape(len(table), -1, GROUP).astype(np.float32)
    scale = (np.abs(grouped).max(axis=2) / LEVELS).astype(np.float16)
    safe = np.where(scale > 0, scale, 1).astype(np.float32)
    whole = np.clip(np.round(grouped / safe[..., None]), -LEVELS, LEVELS).astype(np.int8).reshape(table.shape)
    return whole, scale


def dequantize(whole: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The table again, in float32."""
    return whole.astype(np.float32) * np.repeat(scale.astype(np.float32), GROUP, axis=1)


def pack(whole: np.ndarray) -> np.ndarray:
    """Three bytes for eight weights. Four weights are a code of twelve bits.

    In a row, first the low bytes of all codes, then their high halves: a byte holds that of a code of the first half of
    the row and that of its counterpart in the second.
    """
    codes = ((whole + 4).astype(np.uint16).reshape(len(whole), -1, 4) << PLACES).sum(axis=2, dtype=np.uint16)
    first, second = np.split(codes >> 8, 2, axis=1)
    return np.concatenate([codes & 255, first | second << 4], axis=1).astype(np.uint8)


def unpack(packed: np.ndarray) -> np.ndarray:
    """What was packed."""
    low, high = np.split(packed.astype(np.uint16), [packed.shape[1] // 3 * 2], axis=1)
    codes = low | np.concatenate([high & 15, high >> 4], axis=1) << 8
    return ((codes[..., None] >> PLACES & 7).astype(np.int8) - 4).reshape(len(codes), -1)


def export(folder: Path, features: np.ndarray, table: np.ndarray) -> None:
    """Write the three arrays the embedder maps into memory."""
    folder.mkdir(parents=True, exist_ok=True)
    whole, scale = quantize(table)
    np.save(folder / "features.npy", features.astype(np.uint32))
    np.save(folder / "levels.npy", pack(whole))
    np.save(folder / "scales.npy", scale)
