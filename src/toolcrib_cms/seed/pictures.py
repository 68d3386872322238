"""The demo's pictures: which are drawn how. Drawn once a process, and only when a site is seeded."""

from collections.abc import Callable
from functools import cache, partial

from PIL import Image

from toolcrib_cms.media import landscapes, plants
from toolcrib_cms.media.library import Picture

_DRAWINGS: dict[str, Callable[[], Image.Image]] = {
    "mountain": landscapes.mountain,
    "hero-greenhouse": landscapes.greenhouse,
    "monstera": plants.monstera,
    "cacti": plants.cacti,
    "succulents": plants.succulents,
    "fern": plants.fern,
    "watering-can": plants.watering_can,
    "seedlings": plants.seedlings,
    "window-sill": plants.window_sill,
    "forest": landscapes.forest,
    "dunes": landscapes.dunes,
    "shop-front": landscapes.shop_front,
    "delivery-van": plants.van,
    "logo-light": partial(plants.logo, "#2f7d5b", "#fdf9f1"),
    "logo-dark": partial(plants.logo, "#e4f3e2", "#16342c"),
}


@cache
def drawn(name: str) -> Picture:
    """One of the demo's pictures."""
    return Picture.of(_DRAWINGS[name](), "PNG" if name.startswith("logo") else "JPEG")
