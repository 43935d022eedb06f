"""A whole picture: nodes, edges, labels, titles of bands and legend, made to fit a given room."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from skbn._displays.appearance import Edge, EdgeLook, Swatch
from skbn._displays.labels import LINE_HEIGHT, place_labels, text_width
from skbn._displays.layout.coordinates import Point
from skbn._displays.layout.layered import ASPECT, BAND_PADDING, LayeredGraph, Layout, PlacedGraph

LEAST_FONT = 6.0  # points; smaller text cannot be read
SMALL_TEXT = 0.8  # size of labels, legends and titles of bands, in sizes of names
LARGEST_SCALE = 1.25  # the most that a picture grows where there is more room than it needs
_MARGIN = 6.0  # points around the picture
_TRIAL = 1.5  # a stretch, tried to see how much a picture grows by it
_FARTHEST = 4.0  # the most that distances grow to fill a room
_NARROW = 0.7  # width over height to aim at if a picture may be as high as it needs
_CLEARLY = 1.02  # another layout is taken if its scale is larger by this factor
# A picture without a given size is stretched by these until its labels hide nothing.
_STRETCHES = (1.0, 1.2, 1.45, 1.75, 2.1)
_MOST_POINTS = 1000.0  # the longer side of a picture that is stretched, about a slide's width
# Points between layers, and of an edge that must be visible beside its label.
_LEAST_GAP, _ROOM_AROUND_LABEL = 30.0, 24.0
_SMALLER = 0.85, 0.72  # shares of the smallest text, tried where a picture would be too high
_ROUNDING = 0.5  # points that a picture stays below its width, against rounding
_TITLE_PADDING = 8.0  # points on both sides of a band's title


Arranged = LayeredGraph | PlacedGraph  # which can be laid out in any proportions


class Contents(NamedTuple):
    """What stands in a picture."""

    sizes: Mapping[Hashable, tuple[float, float]]
    texts: Mapping[Edge, str]
    titles: Mapping[int, str]
    rows: Sequence[LegendRow]
    font_size: float  # the size of the nodes' names, in points
    is_sideways: bool  # whether bands stand side by side
    # the size of labels, legends and titles of bands, in sizes of names
    small_text: float = SMALL_TEXT

    @property
    def small_font(self) -> float:
        """The size of labels, legends and titles of bands, in points."""
        return self.font_size * self.small_text

    @property
    def smallest_font(self) -> float:
        """The size of the smallest text, in points."""
        has_small = self.texts or self.titles or self.rows
        return self.small_font if has_small else self.font_size

    @property
    def largest_scale(self) -> float:
        """The most that the picture may grow in a room that is larger than it needs."""
        return max(LARGEST_SCALE, LEAST_FONT / self.smallest_font)


class Composition(NamedTuple):
    """Everything in its place; the layout's extent has room for all of it."""

    layout: Layout
    labels: dict[Edge, Point]  # their centres
    n_hiding: int  # the number of labels that hide something
    titles: list[tuple[Point, str]]  # the centres of the bands' titles
    legend: Legend
    body_width: float  # the width of everything but the legend
    arranged: Layout  # nodes and edges alone, without room for anything else


def size_of(layout: Layout) -> tuple[float, float]:
    """Return the width and the height of a layout with its margins."""
    left, right, bottom, top = layout.extent
    return right - left + 2 * _MARGIN, top - bottom + 2 * _MARGIN


def compose(
    arrange: Callable[[float, float | None], Arranged],
    contents: Contents,
    room: tuple[float, float] | None = None,
) -> Composition:
    """Put a picture together.

    Without a room, it is as large as it needs to be for labels that hide nothing. In a room, of
    which the height may be infinite, it is stretched until it fills it; names stay as large as
    they can be.

    `arrange`: takes the width over the height aimed at, and a width to keep to or None; returns
        what `layout` is called on
    `room`: in points
    """
    arranged = arrange(ASPECT, None)
    if room is None:
        return _of_own_size(arranged, contents)
    width, height = room
    found = _composed(arranged, contents, 1.0, 1.0)
    aspect = width / height if height < float("inf") else _NARROW
    # Layers that keep to the width are aimed at scales at which names are as small as they may be,
    # or smaller: a picture of that width may be too high.
    least = LEAST_FONT / contents.font_size
    shares = (1.0,) if height == float("inf") else (1.0, *_SMALLER)
    narrow = [(share * least, True) for share in shares]
    for scale, is_narrow in ((1.0, False), *narrow):
        # A narrow picture does not help if height is lacking.
        if _scale(found, (width, float("inf")) if is_narrow else room) >= scale:
            continue
        body_width = _body_width(width / scale, contents) if is_narrow else None
        other_way = arrange(aspect, body_width)
        other = _composed(other_way, contents, 1.0, 1.0)
        if _scale(other, room) > _CLEARLY * _scale(found, room):
            arranged, found = other_way, other
    return _filled(arranged, contents, found, room)


def _body_width(width: float, contents: Contents) -> float:
    """Return the width that is left for nodes and edges."""
    beside = 2 * _MARGIN + _ROUNDING
    if contents.titles and not contents.is_sideways:
        beside += max(text_width(title, contents.small_font) for title in contents.titles.values())
        beside += _TITLE_PADDING + 2 * BAND_PADDING
    return max(width - beside, 1.0)


def _of_own_size(arranged: Arranged, contents: Contents) -> Composition:
    """Stretch a picture until its labels hide nothing."""
    across = 1.0
    if contents.is_sideways and contents.texts:  # labels would hide most of the shortest edges
        widest = max(text_width(text, contents.small_font) for text in contents.texts.values())
        across = min(max((widest + _ROOM_AROUND_LABEL) / _LEAST_GAP, 1.0), _STRETCHES[-1])
    found = _composed(arranged, contents, across, 1.0)
    for stretch in _STRETCHES[1:]:
        if not found.n_hiding:
            break
        other = _composed(arranged, contents, max(across, stretch), stretch)
        if max(size_of(other.layout)) > _MOST_POINTS:
            break
        if other.n_hiding < found.n_hiding:
            found = other
    return found


def _filled(
    arranged: Arranged, contents: Contents, found: Composition, room: tuple[float, float]
) -> Composition:
    """Stretch a picture until it fills a room, without making its names smaller."""
    scale = min(_scale(found, room), contents.largest_scale)
    own = found.body_width, size_of(found.layout)[1]
    missing = [max(room[i] / scale - own[i], 0.0) for i in (0, 1)]
    growth = [1.0, 1.0]
    if any(0 < each < float("inf") for each in missing):
        trial = _composed(arranged, contents, _TRIAL, _TRIAL)
        tried = trial.body_width, size_of(trial.layout)[1]
        growth = [(tried[i] - own[i]) / (_TRIAL - 1) for i in (0, 1)]
    factors = [
        min(1 + each / grown, _FARTHEST) if grown > 0 and each < float("inf") else 1.0
        for each, grown in zip(missing, growth, strict=True)
    ]
    if factors == [1.0, 1.0]:
        return found
    filled = _composed(arranged, contents, *factors)
    return filled if _scale(filled, room) * _CLEARLY > scale else found


def _scale(composition: Composition, room: tuple[float, float]) -> float:
    width, height = size_of(composition.layout)
    return min(room[0] / width, room[1] / height)


def _composed(arranged: Arranged, contents: Contents, across: float, down: float) -> Composition:
    """Put a picture together, with its distances stretched."""
    bare = arranged.layout((across, down))
    small = contents.small_font
    labels, n_hiding, layout = place_labels(bare, contents.sizes, contents.texts, small)
    layout, titles = _with_titles(layout, contents.titles, small, contents.is_sideways)
    left, right, bottom, top = layout.extent
    legend = Legend([], [], 0.0, 0.0, small)
    body_width, _ = size_of(layout)
    if contents.rows:
        legend, furthest = place_legend(contents.rows, left, right, bottom, small)
        layout = layout._replace(extent=(left, max(right, furthest), bottom - legend.height, top))
    return Composition(layout, labels, n_hiding, titles, legend, body_width, bare)


def _with_titles(
    layout: Layout, titles: Mapping[int, str], font_size: float, is_sideways: bool
) -> tuple[Layout, list[tuple[Point, str]]]:
    """Make room for titles at the left ends of bands, or above them."""
    if not titles:
        return layout, []
    left, right, bottom, top = layout.extent
    placed, bands = [], {}
    if is_sideways:
        room = LINE_HEIGHT * font_size + _TITLE_PADDING
        for band, (x0, x1, y0, y1) in layout.bands.items():
            width = text_width(titles[band], font_size) + _TITLE_PADDING
            middle, half = (x0 + x1) / 2, max(x1 - x0, width) / 2
            placed.append(((middle, y1 + room / 2 - _TITLE_PADDING / 2), titles[band]))
            bands[band] = (x0, x1, y0, y1 + room)
            left, right, top = min(left, middle - half), max(right, middle + half), y1 + room
    else:
        widths = [text_width(title, font_size) for title in titles.values()]
        room = max(widths) + _TITLE_PADDING
        for band, (x0, x1, y0, y1) in layout.bands.items():
            placed.append(((x0 - room / 2 + _TITLE_PADDING / 2, (y0 + y1) / 2), titles[band]))
            bands[band] = (x0 - room, x1, y0, y1)
            left = min(left, x0 - room)
    return layout._replace(extent=(left, right, bottom, top), bands=bands), placed


# Legends: what colours, widths and dashes mean, in rows below a picture

# Lengths in font sizes.
_SAMPLE, _SAMPLE_GAP, _ENTRY_GAP = 2.6, 0.5, 1.2  # a line or swatch, and the gaps after it
_ROW = 1.6  # height
_ABOVE = 1.0  # gap between picture and legend
_LEAST_WIDTH = 36.0  # narrow pictures get a legend this wide, so that few rows are broken


class LegendRow(NamedTuple):
    """A title, and what each sample means."""

    title: str
    entries: list[tuple[EdgeLook | Swatch, str]]


class Legend(NamedTuple):
    """A legend in its place, in the units of a layout."""

    texts: list[tuple[Point, str]]  # the left ends of the texts, and the middle of their height
    samples: list[tuple[Point, EdgeLook | Swatch]]  # the left ends of the samples
    sample_width: float
    height: float
    font_size: float


def place_legend(
    rows: Sequence[LegendRow], left: float, right: float, bottom: float, font_size: float
) -> tuple[Legend, float]:
    """Place a legend below a picture; rows that are too wide are broken.

    Return it, and how far it extends to the right.
    """
    width = max(right - left, _LEAST_WIDTH * font_size)
    sample = _SAMPLE * font_size
    texts: list[tuple[Point, str]] = []
    samples: list[tuple[Point, Any]] = []
    y, furthest = bottom - _ABOVE * font_size, left
    for title, entries in rows:
        x = left
        y -= _ROW * font_size / 2
        if title:
            texts.append(((x, y), title))
            x += text_width(title, font_size) + _ENTRY_GAP * font_size
            furthest = max(furthest, x)
        start = x
        for look, text in entries:
            entry = sample + _SAMPLE_GAP * font_size + text_width(text, font_size)
            if x > start and x + entry > left + width:
                x, y = start, y - _ROW * font_size
            samples.append(((x, y), look))
            texts.append(((x + sample + _SAMPLE_GAP * font_size, y), text))
            furthest = max(furthest, x + entry)
            x += entry + _ENTRY_GAP * font_size
        y -= _ROW * font_size / 2
    return Legend(texts, samples, sample, bottom - y, font_size), furthest
