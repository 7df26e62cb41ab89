"""Many straight lines as one matplotlib artist. Where they are dense, Pillow draws them, in a third of the time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.collections import PathCollection
from matplotlib.path import Path
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Floats = NDArray[np.float64]

#: Pixels of the finer grid on which Pillow draws, per pixel and direction.
FINE = 2
#: Length of all lines, in pixels per pixel of the rectangle around them, from which on Pillow draws them.
DENSE = 0.5


class Lines(PathCollection):
    """Lines from `start` to `end`, both float64 (m, 2), of one colour.

    Matplotlib takes most of the time of a picture of thousands of long lines. Pillow is quicker, but without
    antialiasing; so it draws on a finer grid. Where its lines cross they do not become darker, so that arrowheads
    remain visible in a crowd.
    """

    def __init__(self, start: Floats, end: Floats, **style: Any) -> None:
        # one path for all, moved and stretched for each: to make a path for each takes longer
        super().__init__([Path([(0.0, 0.0), (1.0, 0.0)])] * len(start), facecolors="none", **style)
        self._ends = np.stack([start, end])
        self._moves = np.tile(np.eye(3), (len(start), 1, 1))
        self._moves[:, :2, 0], self._moves[:, :2, 2] = end - start, start

    def get_transforms(self) -> Any:
        return self._moves

    def draw(self, renderer: Any) -> None:
        ends = self.get_transform().transform(self._ends.reshape(-1, 2)).reshape(2, -1, 2)
        if not (self.get_visible() and isinstance(renderer, RendererAgg) and self._suits(ends, renderer)):
            super().draw(renderer)
            return
        agg: Any = renderer
        thickness = agg.points_to_pixels(np.resize(self.get_linewidth(), ends.shape[1]))
        margin = 2 + int(thickness.max() / 2)
        left, bottom = (int(least) - margin for least in ends.min(axis=(0, 1)).tolist())
        clipped = agg.new_gc()
        clipped.set_clip_rectangle(self.get_clip_box())
        agg.draw_image(clipped, left, bottom, self._pixels(ends - (left, bottom), thickness, margin))
        clipped.restore()
        self.stale = False

    def _suits(self, ends: Floats, renderer: Any) -> bool:
        """Whether the lines, with these ends in pixels, are dense, solid and within the picture."""
        styles: Any = self.get_linestyle()
        solid = all(dashes is None for _, dashes in styles) and self.get_clip_path() is None
        inside = (ends >= 0).all() and (ends < renderer.get_canvas_width_height()).all()
        if not (solid and inside and ends.size):
            return False
        area = (np.ptp(ends, axis=(0, 1)) + 1).prod()
        return bool(np.linalg.norm(ends[1] - ends[0], axis=1).sum() > DENSE * area)

    def _pixels(self, ends: Floats, thickness: Floats, margin: int) -> NDArray[np.uint8]:
        """The picture of the lines, with a margin, (height, width, 4), beginning with the lowest row."""
        width, height = (int(most) + margin for most in ends.max(axis=(0, 1)).tolist())
        colours = np.array(self.get_edgecolor())
        opacity = np.resize(colours[:, 3], len(thickness))
        count = np.maximum(np.rint(FINE * thickness), 1)  # of lines one pixel of the finer grid wide, side by side
        value = np.rint(255 * np.minimum(opacity * FINE * thickness / count, 1)).astype(int)
        along_x = np.abs(np.subtract(*ends)) @ (1, -1) > 0
        across = np.where(along_x[:, None], (0, 1), (1, 0))
        mask = Image.new("L", (FINE * width, FINE * height))
        draw = ImageDraw.Draw(mask).draw.draw_lines  # what `line` calls, which would take as long again
        for number in range(int(count.max())):
            drawn = np.flatnonzero(count > number)
            drawn = drawn[np.argsort(value[drawn], kind="stable")]  # the most opaque above the others
            shift = (number - (count[drawn, None] - 1) / 2) * across[drawn]
            points = np.hstack(list(FINE * ends[:, drawn] + shift))
            for line, fill in zip(points.tolist(), value[drawn].tolist(), strict=True):
                draw(line, fill, 1)
        pixels = np.asarray(mask.reduce(FINE)).astype("<u4") << 24
        pixels |= sum(round(255 * share) << shift for share, shift in zip(colours[0], (0, 8, 16), strict=False))
        return pixels.view(np.uint8).reshape(height, width, 4)
