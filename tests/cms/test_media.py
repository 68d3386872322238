"""The media folder: only pictures, only once, and nothing hidden in them."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from PIL.ExifTags import Base as Tag

from toolcrib_cms.errors import RefusalError
from toolcrib_cms.media import library as library_module
from toolcrib_cms.media.library import MediaLibrary, Picture, ending


def photo(kind: str = "JPEG", size: tuple[int, int] = (640, 400), **options: object) -> bytes:
    buffer = BytesIO()
    Image.new("RGB", size, "#2f7d5b").save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("kind", "mime"), [("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/webp"), ("GIF", "image/png")]
)
def test_images_are_kept_with_their_size_and_kind(tmp_path: Path, kind: str, mime: str) -> None:
    picture = Picture.read(photo(kind))
    assert (picture.mime, picture.width, picture.height) == (mime, 640, 400)
    library = MediaLibrary(tmp_path)
    assert library.keep(picture) is True
    assert library.read(picture.sha256, picture.mime) == picture.data
    with Image.open(library.thumbnail(picture.sha256)) as thumbnail:
        assert thumbnail.size == (480, 300)
    assert ending(mime) in ("jpg", "png", "webp")


def test_where_a_photo_was_taken_is_forgotten_and_its_turn_is_applied() -> None:
    exif = Image.Exif()
    exif[Tag.Orientation] = 6  # the camera was held upright
    exif[Tag.Artist] = "Somebody"
    picture = Picture.read(photo(exif=exif, comment=b"secret"))
    assert (picture.width, picture.height) == (400, 640)
    with Image.open(BytesIO(picture.data)) as kept:
        assert dict(kept.getexif()) == {}
    assert b"Somebody" not in picture.data
    assert b"secret" not in picture.data


def test_clear_pixels_stay_clear() -> None:
    buffer = BytesIO()
    Image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(buffer, "PNG")
    with Image.open(BytesIO(Picture.read(buffer.getvalue()).data)) as kept:
        assert kept.mode == "RGBA"


@pytest.mark.parametrize("data", [b"", b"<svg onload=alert(1)>", b"GIF89a", photo()[:200], b"%PDF-1.4"])
def test_what_is_no_image_is_refused(data: bytes) -> None:
    with pytest.raises(RefusalError, match="not an image"):
        Picture.read(data)


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusalError, match="too many pixels"):
        Picture.read(photo("PNG", (8000, 5001)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # Pillow's own alarm comes first for the largest
    with pytest.raises(RefusalError, match="too many pixels"):
        Picture.read(photo())
    monkeypatch.setattr(library_module, "MOST_BYTES", 10)
    with pytest.raises(RefusalError, match="at most 10 are taken"):
        Picture.read(photo())


def test_the_same_picture_twice_is_kept_once_and_can_go(tmp_path: Path) -> None:
    library, picture = MediaLibrary(tmp_path), Picture.read(photo())
    assert [library.keep(picture), library.keep(picture)] == [True, False]
    library.remove(picture.sha256, picture.mime)
    assert library.read(picture.sha256, picture.mime) is None
    assert not library.thumbnail(picture.sha256).exists()
