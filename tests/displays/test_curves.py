import math

import pytest

from skbn._displays.layout.curves import cut_at_end, split

ARCH = [(0, 0), (0, 60), (100, 60), (100, 0)]
TWO_PIECES = [*ARCH, (100, -2), (100, -4), (100, -5)]


def bernstein(piece, t):
    weights = [math.comb(3, k) * t**k * (1 - t) ** (3 - k) for k in range(4)]
    return tuple(sum(w * p[i] for w, p in zip(weights, piece, strict=True)) for i in (0, 1))


def point_at(route, share):
    """Return the point at a share of a curve, whose pieces all count as equally long."""
    n_pieces = (len(route) - 1) // 3
    piece = min(int(share * n_pieces), n_pieces - 1)
    return bernstein(route[3 * piece : 3 * piece + 4], share * n_pieces - piece)


@pytest.mark.parametrize("t", [0, 0.2, 0.5, 1])
def test_points_are_those_of_bernstein_polynomials(t):
    assert split(ARCH, t)[-1] == pytest.approx(bernstein(ARCH, t))


@pytest.mark.parametrize("route", [ARCH, TWO_PIECES])
@pytest.mark.parametrize("length", [1.0, 4.9, 20.0])
def test_cut_ends_at_the_distance_and_follows_the_curve(route, length):
    cut = cut_at_end(route, length)
    assert math.dist(cut[-1], route[-1]) == pytest.approx(length)
    assert cut[0] == route[0]
    assert (len(cut) - 1) % 3 == 0
    # A part of a cubic is the cubic at a share of its parameter.
    middle = point_at(cut, 0.5 / ((len(cut) - 1) // 3))
    nearest = min(math.dist(middle, point_at(route, i / 10_000)) for i in range(10_001))
    assert nearest < 0.05


def test_short_curves_are_cut_in_half():
    line = [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert cut_at_end(line, 100)[-1] == pytest.approx((0, 1.5))
