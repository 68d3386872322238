"""Plants and things of the seed site, drawn by code."""

from math import cos, pi, sin

import numpy as np
from PIL import Image

from toolcrib_cms.media.canvas import Canvas


def monstera() -> Image.Image:
    """A large monstera leaf with its holes."""
    canvas = Canvas("#ece2cd", "#ece2cd")  # one colour: the slits are cut out with it
    canvas.line([(600, 740), (612, 640), (600, 560)], "#2d6a4c", 16)
    canvas.polygon(_heart(600, 330, 330), "#2f7d5b")
    canvas.polygon(_heart(600, 338, 312), "#358a64")
    for side in (-1, 1):
        for number in range(5):
            y = 200 + number * 78
            slit = 150 - number * 10
            edge = 600 + side * 360
            canvas.polygon([(edge, y - 34), (600 + side * slit, y + 12), (edge, y + 26)], "#ece2cd")
            canvas.line([(600, y + 70), (600 + side * 210, y - 4)], "#8fc7a2", 4)
            canvas.ellipse(600 + side * 92, y + 34, 40, 16, "#ece2cd")
    canvas.line([(600, 130), (600, 566)], "#a6d6b3", 7)
    return canvas.picture()


def cacti() -> Image.Image:
    """Three cacti in terracotta pots on a shelf."""
    canvas = Canvas("#f9d9c7", "#f7e6d6")
    canvas.box(0, 600, 1200, 150, "#c99470")
    canvas.box(0, 600, 1200, 14, "#b27c58")
    for x, width, height, colour in (
        (330, 120, 290, "#3f8f63"),
        (620, 150, 200, "#2f7d5b"),
        (890, 100, 340, "#5aa676"),
    ):
        canvas.box(x - width / 2, 480 - height, width, height + 40, colour, round=width / 2)
        for rib in range(1, 5):
            place = x - width / 2 + rib * width / 5
            canvas.line([(place, 480 - height + 36), (place, 480)], "#d8f0d455", 4)
            for thorn in range(480 - height + 60, 470, 34):
                canvas.line([(place - 7, thorn - 5), (place + 7, thorn + 5)], "#fdf6e0", 2)
        canvas.pot(x, 604, width * 1.35, 130, "#c8704f", "#a9563c")
    canvas.ellipse(620, 282, 54, 40, "#ef7d8e")
    canvas.ellipse(620, 276, 26, 20, "#ffd3a8")
    return canvas.picture()


def succulents() -> Image.Image:
    """Rosettes of succulents seen from above."""
    canvas = Canvas("#d8cbb4", "#cbbc9f")
    spots = ((300, 260, 210), (640, 420, 260), (970, 230, 190), (930, 590, 180), (250, 600, 170), (620, 110, 130))
    tints = ("#6fae9a", "#86bf9b", "#a9cbb0", "#c9a6b4", "#7aa7a5", "#9cc48d")
    for (x, y, size), tint in zip(spots, tints, strict=True):
        for ring in range(5):
            leaves, reach = 11 - ring, size * (1 - ring * 0.19)
            for leaf in range(leaves):
                degrees = leaf * 360 / leaves + ring * 17
                edge = "#ffffff44" if ring % 2 else "#24493d22"
                canvas.leaf(x, y, reach, reach * 0.46, degrees, tint, "#ffffff33")
                canvas.leaf(x, y, reach * 0.9, reach * 0.34, degrees, edge, "#ffffff22")
    return canvas.picture()


def fern() -> Image.Image:
    """Arching fern fronds against a dark wall."""
    canvas = Canvas("#16342c", "#0e231e")
    canvas.glow(600, 700, 800, "#2d5b4a")
    for number, compact_schema in enumerate((-68, -46, -24, -6, 14, 34, 56, 74)):
        colour = ("#3f9468", "#56a878", "#78bd8a", "#2f7d5b")[number % 4]
        points = [
            (
                600 + sin(compact_schema * pi / 180) * 620 * t,
                740 - cos(compact_schema * pi / 180) * 640 * t + 130 * t**3,
            )
            for t in np.linspace(0, 1, 26)
        ]
        canvas.line(points, colour, 4)
        for place, (x, y) in enumerate(points[3:], start=3):
            size = 84 * (1 - (place / 27) ** 2)
            for side in (-1, 1):
                canvas.leaf(x, y, size, size * 0.24, compact_schema + side * 68, colour, "#dff1dd33")
    return canvas.picture()


def watering_can() -> Image.Image:
    """A yellow watering can beside seedlings."""
    canvas = Canvas("#d9ecf2", "#f2f6ec")
    canvas.box(0, 600, 1200, 150, "#8a6a4f")
    canvas.box(0, 600, 1200, 12, "#725540")
    canvas.line([(420, 330), (330, 250), (210, 300), (230, 470), (400, 520)], "#d99a1f", 26)
    canvas.polygon([(390, 300), (690, 300), (720, 604), (360, 604)], "#f2b632")
    canvas.polygon([(560, 300), (690, 300), (720, 604), (580, 604)], "#dfa022")
    canvas.ellipse(540, 300, 300, 56, "#c98c17")
    canvas.polygon([(690, 470), (912, 262), (944, 292), (712, 560)], "#e6a927")
    canvas.polygon([(886, 222), (988, 320), (956, 342), (868, 262)], "#c98c17")
    for drop in range(9):
        canvas.ellipse(990 + drop % 3 * 36, 350 + drop * 26, 9, 20, "#6fb3d2")
    for x in (930, 1000, 1070, 1130):
        for degrees in (-34, 34):
            canvas.leaf(x, 606, 66, 24, degrees, "#56a878", "#e4f3e2")
    return canvas.picture()


def seedlings() -> Image.Image:
    """Young seedlings in a tray of dark soil."""
    canvas = Canvas("#eef4e3", "#dfe9cf")
    canvas.glow(600, 200, 800, "#fffef2")
    canvas.box(80, 500, 1040, 190, "#6b4a36", round=16)
    canvas.box(80, 500, 1040, 50, "#4a3225", round=16)
    for row, (base, tall, colour) in enumerate(((505, 120, "#8cc98f"), (520, 160, "#5fb074"))):
        for number in range(9):
            x = 150 + number * 112 + row * 50
            canvas.line([(x, base), (x + 4, base - tall)], "#a9d39b", 7)
            for degrees in (-58, 58):
                canvas.leaf(x + 4, base - tall + 6, tall * 0.6, tall * 0.26, degrees, colour, "#eef8e8")
    return canvas.picture()


def window_sill() -> Image.Image:
    """Potted plants on a window sill in the morning."""
    canvas = Canvas("#f3efe6", "#e9e2d4")
    canvas.box(220, 60, 760, 520, "#ffffff", round=6)
    canvas.box(244, 84, 344, 472, "#bfe0ee")
    canvas.box(612, 84, 344, 472, "#bfe0ee")
    canvas.glow(840, 180, 420, "#fff6d8")
    canvas.box(160, 574, 880, 40, "#d9c3a3", round=4)
    pots = ((310, 150, "#e8e1d6", "#cfc5b5"), (500, 240, "#c8704f", "#a9563c"), (720, 190, "#7fa7b8", "#668c9c"))
    for x, tall, colour, rim in (*pots, (890, 130, "#f2b632", "#dfa022")):
        for number, degrees in enumerate(range(-64, 65, 16)):
            shade = ("#2f7d5b", "#4d9d6c", "#78bd8a")[number % 3]
            canvas.leaf(x, 500, tall * (1.25 - abs(degrees) / 160), tall * 0.24, degrees, shade, "#e4f3e2")
        canvas.pot(x, 578, 110, 86, colour, rim)
    return canvas.picture()


def van() -> Image.Image:
    """A green delivery van on a road through hills."""
    canvas = Canvas("#cfe8f3", "#f6f3e6")
    canvas.ridge(500, 160, "#a9cfae", seed=31, peaks=1.1)
    canvas.ridge(580, 120, "#7db58a", seed=8, peaks=1.4)
    canvas.box(0, 600, 1200, 150, "#6d7377")
    for x in range(-40, 1200, 160):
        canvas.box(x, 676, 90, 10, "#f6f3e6", round=3)
    canvas.box(330, 330, 430, 250, "#2f7d5b", round=22)
    canvas.polygon([(740, 380), (850, 380), (920, 480), (940, 580), (740, 580)], "#2f7d5b")
    canvas.polygon([(768, 402), (840, 402), (890, 478), (768, 478)], "#d9eef2")
    for degrees in (-30, 0, 30):
        canvas.leaf(540, 520, 130, 50, degrees, "#f6efe2", "#2f7d5b")
    for x in (450, 820):
        canvas.ellipse(x, 590, 116, 116, "#2b2f33")
        canvas.ellipse(x, 590, 52, 52, "#cfd6da")
    return canvas.picture()


def logo(leaf: str, ground: str) -> Image.Image:
    """The mark of the shop: two leaves in a circle."""
    canvas = Canvas(ground, ground, width=600, height=600)
    canvas.ellipse(300, 300, 480, 480, leaf)
    canvas.leaf(300, 450, 290, 130, -32, ground, leaf)
    canvas.leaf(300, 450, 230, 110, 38, ground, leaf)
    return canvas.picture()


def _heart(x: float, y: float, size: float) -> list[tuple[float, float]]:
    turns = np.linspace(0, 2 * pi, 120)
    return [
        (
            x + size / 16 * 16 * float(np.sin(turn) ** 3),
            y - size / 17 * float(13 * np.cos(turn) - 5 * np.cos(2 * turn) - 2 * np.cos(3 * turn) - np.cos(4 * turn)),
        )
        for turn in turns
    ]
