"""A canvas of 1200 by 750 units, drawn at double size and reduced, so that edges are smooth."""

from collections.abc import Iterable, Sequence
from math import cos, pi, sin
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFilter

Point: TypeAlias = tuple[float, float]

WIDTH, HEIGHT = 1200, 750
_SCALE = 2


class Canvas:
    """Draws shapes in units; colours are `#rrggbb` or `#rrggbbaa`."""

    def __init__(self, top: str, bottom: str, *, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.width, self.height = width, height
        rows = np.linspace(0.0, 1.0, height * _SCALE)[:, None]
        colours = np.array(ImageColor.getrgb(top)) * (1 - rows) + np.array(ImageColor.getrgb(bottom)) * rows
        picture = np.repeat(colours[:, None, :], width * _SCALE, axis=1)
        self._image = Image.fromarray(picture.astype(np.uint8), "RGB")
        self._pen = ImageDraw.Draw(self._image, "RGBA")

    def polygon(self, points: Iterable[Point], colour: str) -> None:
        """A filled shape."""
        self._pen.polygon([(x * _SCALE, y * _SCALE) for x, y in points], fill=colour)

    def ellipse(self, x: float, y: float, across: float, down: float, colour: str) -> None:
        """A filled ellipse around a point."""
        box = (x - across / 2, y - down / 2, x + across / 2, y + down / 2)
        self._pen.ellipse([side * _SCALE for side in box], fill=colour)

    def box(self, x: float, y: float, width: float, height: float, colour: str, *, round: float = 0) -> None:
        """A filled rectangle from its upper left corner, with round corners if wanted."""
        sides = [side * _SCALE for side in (x, y, x + width, y + height)]
        self._pen.rounded_rectangle(sides, radius=round * _SCALE, fill=colour)

    def line(self, points: Sequence[Point], colour: str, thickness: float) -> None:
        """A line through points."""
        scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
        self._pen.line(scaled, fill=colour, width=round(thickness * _SCALE), joint="curve")

    def glow(self, x: float, y: float, radius: float, colour: str) -> None:
        """Soft light around a point."""
        red, green, blue, *alpha = ImageColor.getrgb(colour)
        size = (self._image.width // 8, self._image.height // 8)  # small and blurred: a glow has no edges
        light = Image.new("L", size, 0)
        reach = radius * _SCALE / 8
        centre = (x * _SCALE / 8, y * _SCALE / 8)
        box = [centre[0] - reach / 2, centre[1] - reach / 2, centre[0] + reach / 2, centre[1] + reach / 2]
        ImageDraw.Draw(light).ellipse(box, fill=alpha[0] if alpha else 255)
        light = light.filter(ImageFilter.GaussianBlur(reach / 2.5)).resize(self._image.size, Image.Resampling.BICUBIC)
        self._image.paste((red, green, blue), mask=light)

    def ridge(self, base: float, height: float, colour: str, *, seed: int, peaks: float = 3.0) -> list[Point]:
        """A line of hills or mountains, filled to the bottom; gives its outline."""
        random = np.random.default_rng(seed)
        x = np.linspace(0.0, 1.0, 240)
        outline = np.zeros_like(x)
        for octave in range(5):
            wave = np.sin(2 * pi * (peaks * 1.9**octave * x + random.random()))
            outline += (1 - np.abs(wave) if peaks > 2 else wave) / 2.1**octave
        outline = (outline - outline.min()) / np.ptp(outline)
        points = [(float(a) * self.width, base - float(b) * height) for a, b in zip(x, outline, strict=True)]
        self.polygon([*points, (self.width, self.height), (0, self.height)], colour)
        return points

    def leaf(self, x: float, y: float, length: float, width: float, degrees: float, colour: str, vein: str) -> None:
        """A leaf that grows from a point in a direction; 0 degrees is upward."""
        turn = degrees * pi / 180
        along = np.linspace(0.0, 1.0, 40)
        half = np.sin(pi * along**0.8) * width / 2

        def place(forward: float, aside: float) -> Point:
            return (
                x + sin(turn) * forward * length + cos(turn) * aside,
                y - cos(turn) * forward * length + sin(turn) * aside,
            )

        left = [place(float(a), float(-b)) for a, b in zip(along, half, strict=True)]
        right = [place(float(a), float(b)) for a, b in zip(along, half, strict=True)]
        self.polygon([*left, *reversed(right)], colour)
        self.line([place(0, 0), place(0.94, 0)], vein, max(1.0, width / 40))

    def pot(self, x: float, bottom: float, width: float, height: float, colour: str, rim: str) -> None:
        """A plant pot standing on a line, around a middle."""
        upper, lower = width / 2, width * 0.36
        top = bottom - height
        self.polygon([(x - upper, top), (x + upper, top), (x + lower, bottom), (x - lower, bottom)], colour)
        self.polygon([(x + upper * 0.2, top), (x + upper, top), (x + lower, bottom), (x + lower * 0.3, bottom)], rim)
        self.box(x - upper * 1.08, top - height * 0.08, width * 1.08, height * 0.2, rim, round=6)

    def picture(self) -> Image.Image:
        """What was drawn."""
        return self._image.reduce(_SCALE)
