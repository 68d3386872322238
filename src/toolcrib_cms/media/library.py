"""The media folder: image files under their hashes, with a thumbnail each.

Whatever comes in is decoded and written anew: what is kept is an image and nothing else, without EXIF (places, cameras,
names), colour tricks or data hidden behind the picture.
"""

import hashlib
import os
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

from toolcrib_cms.errors import RefusalError

MOST_BYTES: Final = 20 * 1024 * 1024
MOST_PIXELS: Final = 40_000_000  # a bomb of a few kilobytes can hold billions
THUMBNAIL: Final = (480, 480)

_MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_ENDINGS = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp"}
_ACCEPTED = ("JPEG", "PNG", "WEBP", "GIF")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image as it is kept: encoded, hashed, with its thumbnail."""

    data: bytes = field(repr=False)
    thumbnail: bytes = field(repr=False)
    sha256: str
    mime: str
    width: int
    height: int

    @classmethod
    def of(cls, image: Image.Image, kind: str = "JPEG") -> "Picture":
        """Encode an image anew, without anything but its pixels."""
        data = _encoded(image, kind)
        return cls(
            data=data,
            thumbnail=_thumbnail(image),
            sha256=hashlib.sha256(data).hexdigest(),
            mime=_MIME[kind],
            width=image.width,
            height=image.height,
        )

    @classmethod
    def read(cls, data: bytes) -> "Picture":
        """An image that came from outside, if it is one and not too large."""
        if len(data) > MOST_BYTES:
            raise RefusalError(f"The image has {len(data):,} bytes; at most {MOST_BYTES:,} are taken.")
        try:
            with Image.open(BytesIO(data), formats=_ACCEPTED) as image:
                _refuse_bomb(image.width * image.height)
                kind = image.format if image.format in _MIME else "PNG"  # an animation becomes its first frame
                return cls.of(ImageOps.exif_transpose(image), kind)
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise _bomb() from None
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError):  # Pillow's words for broken files
            raise RefusalError(
                "The file is not an image that can be read.", hint="JPEG, PNG, WebP and GIF are taken."
            ) from None


class MediaLibrary:
    """Keeps and gives image files; knows nothing of names, pages or descriptions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, picture: Picture) -> bool:
        """Keep a picture; the same one twice is kept once. Gives whether it is new."""
        path = self._path(picture.sha256, picture.mime)
        if path.exists():
            return False
        _write(path, picture.data)
        _write(self.thumbnail(picture.sha256), picture.thumbnail)
        return True

    def read(self, sha256: str, mime: str) -> bytes | None:
        """The file's bytes, or None when it is gone."""
        path = self._path(sha256, mime)
        return path.read_bytes() if path.is_file() else None

    def thumbnail(self, sha256: str) -> Path:
        """Where the small form lies; always WebP."""
        return self._folder / "thumbnails" / f"{sha256}.webp"

    def remove(self, sha256: str, mime: str) -> None:
        """Let go of a file and its thumbnail."""
        self._path(sha256, mime).unlink(missing_ok=True)
        self.thumbnail(sha256).unlink(missing_ok=True)

    def _path(self, sha256: str, mime: str) -> Path:
        return self._folder / f"{sha256}.{_ENDINGS[mime]}"


def ending(mime: str) -> str:
    """The end of a file's name for its kind."""
    return _ENDINGS[mime]


def _refuse_bomb(pixels: int) -> None:
    if pixels > MOST_PIXELS:
        raise _bomb()


def _bomb() -> RefusalError:
    return RefusalError(f"The image has too many pixels; at most {MOST_PIXELS:,} are taken.", hint="Use a smaller one.")


def _encoded(image: Image.Image, kind: str) -> bytes:
    clear = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    plain = image.convert("RGBA" if clear and kind != "JPEG" else "RGB")
    plain.info.clear()  # profiles and comments are written by some formats even when not asked for
    buffer = BytesIO()
    plain.save(buffer, kind, **({"optimize": True} if kind == "PNG" else {"quality": 86}))
    return buffer.getvalue()


def _thumbnail(image: Image.Image) -> bytes:
    small = image.convert("RGBA" if "A" in image.getbands() else "RGB")
    small.thumbnail(THUMBNAIL)
    small.info.clear()
    buffer = BytesIO()
    small.save(buffer, "WEBP", quality=80)
    return buffer.getvalue()


def _write(path: Path, data: bytes) -> None:
    """All of it or nothing: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.{os.getpid()}.part")
    half.write_bytes(data)
    half.replace(path)
