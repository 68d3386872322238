"""A file of named arrays that is checked before it is used: how a built index is stored on disk.

Eight bytes of magic, the length of a header, the header (JSON: a key, and the name, type and shape of each array), the
arrays, and a checksum of all that. Nothing in it is code. A file that breaks off, was changed, or is of another key
raises `UnusableFileError`; who uses an array checks what it points at.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

MAGIC = b"tcrib\x00ix"
MOST_HEADER_BYTES = 1 << 20
CHECKSUM_BYTES = 32
KINDS = ("int8", "uint8", "int32", "uint32", "int64", "float32")
UNFINISHED = ".unfinished"

Arrays: TypeAlias = Mapping[str, NDArray[Any]]


class UnusableFileError(Exception):
    """A file that is not what it should be; says why."""


def write_arrays(path: Path, key: str, arrays: Arrays) -> None:
    """Write a file whole, or not at all. Raises `OSError` where it cannot be written.

    Without an fsync: what a power cut leaves behind fails its checksum.
    """
    import tempfile  # late: most processes store nothing

    held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    listed = [[name, array.dtype.name, list(array.shape)] for name, array in held.items()]
    header = json.dumps({"key": key, "arrays": listed}).encode()
    descriptor, unfinished = tempfile.mkstemp(suffix=UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            checksum = hashlib.blake2b(digest_size=CHECKSUM_BYTES)
            for part in (MAGIC, len(header).to_bytes(8, "little"), header, *(_bytes(one) for one in held.values())):
                checksum.update(part)
                file.write(part)
            file.write(checksum.digest())
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def read_arrays(path: Path, key: str, *, first: int | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of a file; with `first` only so many of them, and those without a check of their bytes.

    Raises:
        UnusableFileError: The file is not whole, or not of this key.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        checksum = hashlib.blake2b(digest_size=CHECKSUM_BYTES)
        start = _exactly(file, len(MAGIC) + 8)
        length = int.from_bytes(start[len(MAGIC) :], "little")
        if not start.startswith(MAGIC) or length > MOST_HEADER_BYTES:
            raise UnusableFileError("it is not a file of an index")
        header = _exactly(file, length)
        listed = _listed(header, key)
        # Before anything is reserved: sizes that the file does not have are not asked for.
        expected = sum(np.dtype(kind).itemsize * prod(shape) for _, kind, shape in listed)
        if os.fstat(file.fileno()).st_size != len(start) + length + expected + CHECKSUM_BYTES:
            raise UnusableFileError("it is not as long as it should be")
        checksum.update(start + header)
        arrays: dict[str, NDArray[Any]] = {}
        for name, kind, shape in listed[:first]:
            arrays[name] = np.empty(shape, dtype=kind)
            held = _bytes(arrays[name])
            if file.readinto(held) != len(held):
                raise UnusableFileError("it breaks off")
            checksum.update(held)
        if first is not None:
            return arrays
        if _exactly(file, CHECKSUM_BYTES) != checksum.digest():
            raise UnusableFileError("its checksum is wrong")
        return arrays


def _exactly(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) != count:
        raise UnusableFileError("it breaks off")
    return found


def _listed(header: bytes, key: str) -> list[tuple[str, str, tuple[int, ...]]]:
    try:
        document = json.loads(header)
        if document["key"] != key:
            raise UnusableFileError("it was made by another version, or with another embedder")
        listed = [
            (str(name), str(kind), tuple(int(size) for size in shape)) for name, kind, shape in document["arrays"]
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UnusableFileError("its header cannot be read") from error
    if any(kind not in KINDS or len(shape) not in (1, 2) or min(shape) < 0 for _, kind, shape in listed):
        raise UnusableFileError("its header cannot be read")
    return listed


def _bytes(array: NDArray[Any]) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8).data)


# Texts as arrays, and checks of arrays that point into others.


def check(true: bool | np.bool_, what: str) -> None:
    """Refuse a file whose arrays do not fit each other."""
    if not true:
        raise UnusableFileError(f"its {what} do not fit")


def taken(arrays: Arrays, name: str, kind: str, *shape: int | None) -> NDArray[Any]:
    """The array with this name, if it is of this type and shape; None is any size."""
    array = arrays.get(name)
    if array is None or array.dtype != kind or array.ndim != len(shape):
        raise UnusableFileError(f"its {name} is missing or of another kind")
    check(all(size in (None, own) for size, own in zip(shape, array.shape, strict=True)), name)
    return array


def packed(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Texts without a zero character as one array."""
    return np.frombuffer("\0".join(texts).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked(arrays: Arrays, name: str, count: int) -> list[str]:
    """The texts of an array; there have to be so many."""
    array = taken(arrays, name, "uint8", None)
    try:
        texts = array.tobytes().decode("utf-8", "surrogatepass").split("\0") if count or len(array) else []
    except UnicodeDecodeError as error:
        raise UnusableFileError("its texts cannot be read") from error
    check(len(texts) == count, "texts")
    return texts


def check_blocks(ends: NDArray[Any], rows: int) -> None:
    """Check that these are the ends of blocks that lie one behind the other and cover so many rows."""
    bounds = np.concatenate([[0], ends])
    check((bounds[1:] >= bounds[:-1]).all() and bounds[-1] == rows, "blocks")


def check_below(numbers: NDArray[Any], limit: int) -> None:
    """Check that all numbers are valid places among so many."""
    check(not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < limit), "places")


def pieces(values: Sequence[Any] | NDArray[Any], ends: NDArray[Any]) -> Iterator[Any]:
    """The blocks of a sequence, by their ends."""
    return (values[start:end] for start, end in pairwise([0, *ends.tolist()]))
