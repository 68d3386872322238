"""Landscapes and buildings of the seed site, drawn by code: no downloads, the same on every machine."""

from itertools import pairwise

import numpy as np
from PIL import Image

from toolcrib_cms.media.canvas import HEIGHT, WIDTH, Canvas


def mountain() -> Image.Image:
    """Snowy peaks at sunrise over a lake."""
    canvas = Canvas("#f7b9a0", "#fbe8d3")
    canvas.glow(860, 300, 620, "#fff3d6")
    canvas.ellipse(860, 300, 96, 96, "#fffaf0")
    canvas.ridge(520, 250, "#c7a9b8", seed=11, peaks=3.2)
    outline = canvas.ridge(560, 400, "#5f6f92", seed=4, peaks=2.4)
    for (x, y), (next_x, next_y) in pairwise(outline):
        if y < 330:  # snow lies on the high parts, thicker the higher
            depth = (330 - y) * 0.55
            canvas.polygon([(x, y), (next_x, next_y), (next_x, next_y + depth), (x, y + depth * 0.8)], "#f4f6fb")
    canvas.ridge(600, 120, "#33485f", seed=23, peaks=4.0)
    canvas.box(0, 570, WIDTH, 180, "#86a9bf")
    canvas.box(0, 570, WIDTH, 6, "#e9f2f3")
    for row in range(14):
        width = 60 + row * 34
        canvas.box(860 - width / 2, 586 + row * 12, width, 3, "#fdf1dd99", round=2)
    return canvas.picture()


def forest() -> Image.Image:
    """A misty forest of firs, row behind row."""
    canvas = Canvas("#dfe9e4", "#f4f1e4")
    canvas.glow(420, 200, 700, "#fffbe8")
    random = np.random.default_rng(7)
    rows = ((430, 150, "#b9cfc4"), (500, 210, "#8fb3a2"), (580, 270, "#5d8c78"), (680, 340, "#2f6250"))
    for base, tall, colour in (*rows, (800, 430, "#16392f")):
        for x in np.arange(-20, WIDTH + 60, tall / 3.2):
            height = tall * float(random.uniform(0.7, 1.1))
            middle = float(x) + float(random.uniform(-16, 16))
            for tier in range(5):
                top = base - height + tier * height * 0.16
                half = (tier + 1.6) * height * 0.055
                canvas.polygon(
                    [(middle, top), (middle + half, top + height * 0.3), (middle - half, top + height * 0.3)], colour
                )
            canvas.box(middle - tall / 60, base - height * 0.12, tall / 30, height * 0.3, colour)
        canvas.box(0, base - 12, WIDTH, HEIGHT, colour)
        canvas.glow(WIDTH / 2, base, 900, "#f4f6ee38")
    return canvas.picture()


def dunes() -> Image.Image:
    """Desert dunes at dusk with a lone cactus."""
    canvas = Canvas("#3d2c5e", "#f59f6c")
    canvas.glow(330, 430, 600, "#ffd9a0")
    canvas.ellipse(330, 440, 130, 130, "#fff0cf")
    for base, height, colour, seed in (
        (560, 110, "#c8704f", 3),
        (630, 140, "#a85442", 9),
        (720, 170, "#7c3b3b", 14),
        (800, 140, "#4d2634", 20),
    ):
        canvas.ridge(base, height, colour, seed=seed, peaks=1.2)
    for x, top, width in ((880, 420, 34), (842, 500, 24), (922, 480, 24)):
        canvas.box(x - width / 2, top, width, 640 - top if width > 30 else 80, "#22362d", round=14)
    canvas.box(842, 556, 40, 24, "#22362d", round=12)
    canvas.box(880, 536, 44, 24, "#22362d", round=12)
    return canvas.picture()


def greenhouse() -> Image.Image:
    """The hero image: a sunlit greenhouse full of plants."""
    canvas = Canvas("#dff1ea", "#fdf6e0")
    canvas.glow(600, 240, 900, "#fffdf0")
    for x in range(0, WIDTH + 1, 120):
        canvas.line([(600, -60), (x * 1.6 - 360, 470)], "#9dbfb055", 5)
    for arch in range(5):
        across, down = 1320 - arch * 230, 1080 - arch * 205
        edge = ("#6f9c8a", "#84ad9c", "#9abeae", "#b1cec0", "#c8ddd2")[arch]
        points = [(600 + np.cos(a) * across / 2, 520 - np.sin(a) * down / 2) for a in np.linspace(0, np.pi, 60)]
        canvas.line([(float(x), float(y)) for x, y in points], edge, 9 - arch * 1.4)
    canvas.polygon([(520, 470), (680, 470), (930, 750), (270, 750)], "#e9d9b8")
    canvas.polygon([(580, 470), (620, 470), (690, 750), (510, 750)], "#f3e7cd")
    random = np.random.default_rng(5)
    greens = ("#2f7d5b", "#3f9468", "#56a878", "#226249", "#78bd8a")
    for depth in range(9):
        near = depth / 8
        for side in (-1, 1):
            x = 600 + side * (95 + near * 400)
            y = 480 + near * 240
            canvas.box(x - 60 - 90 * near, y, 120 + 180 * near, 30 + 50 * near, "#a8724a", round=8)
            for _ in range(15):
                canvas.leaf(
                    x + float(random.uniform(-70, 70)) * (0.6 + near),
                    y + 6,
                    (60 + 130 * near) * float(random.uniform(0.7, 1.25)),
                    (20 + 40 * near) * float(random.uniform(0.7, 1.2)),
                    float(random.uniform(-62, 62)),
                    greens[int(random.integers(len(greens)))],
                    "#e4f3e255",
                )
    return canvas.picture()


def shop_front() -> Image.Image:
    """The front of a small plant shop with a striped awning."""
    canvas = Canvas("#efe6da", "#e5d8c6")
    canvas.box(140, 90, 920, 560, "#2f5d4d", round=10)
    canvas.box(180, 250, 420, 330, "#cfe7e2", round=6)
    canvas.box(660, 250, 180, 400, "#24493d", round=6)
    canvas.box(680, 270, 140, 210, "#cfe7e2", round=4)
    canvas.box(880, 250, 140, 330, "#cfe7e2", round=6)
    canvas.box(330, 112, 540, 64, "#f6efe2", round=8)
    for letter in range(7):  # a sign without letters: fonts differ from machine to machine
        canvas.leaf(410 + letter * 64, 166, 44, 20, (-18, 12)[letter % 2], "#2f7d5b", "#f6efe2")
    for stripe in range(12):
        colour = ("#d9694f", "#fdf6ea")[stripe % 2]
        x = 140 + stripe * 920 / 12
        canvas.polygon([(x + 16, 190), (x + 92.7 - 16, 190), (x + 76.7, 262), (x, 262)], colour)
        canvas.ellipse(x + 38.3, 262, 76.7, 44, colour)
    canvas.box(0, 650, WIDTH, 100, "#b9a58c")
    for x, tall in ((230, 120), (330, 170), (440, 110), (540, 150), (930, 130), (990, 90)):
        for degrees in (-48, -22, 0, 24, 50):
            canvas.leaf(x, 548, tall, tall / 3.4, degrees, ("#2f7d5b", "#4d9d6c")[degrees % 4 == 0], "#d8efd6")
        canvas.pot(x, 582, 56, 44, "#c8704f", "#a85442")
    return canvas.picture()
