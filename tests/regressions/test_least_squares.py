"""The families near a network, each against a regression of its own."""

import numpy as np
import pytest
import reference
from hard_tables import nearly_collinear

from skbn._core.subsets import bits_of, members_of
from skbn._data.sample import summarise
from skbn._regressions import least_squares
from skbn._regressions.least_squares import families_of, neighbours
from skbn.datasets import make_gaussian_network

PARENTS = [0b100110, 0, 0b101001, 0b1, 0b101111, 0]


@pytest.fixture(params=[1 << 21, 40, 1], ids="batches of {} numbers".format)
def any_batches(request, monkeypatch):
    monkeypatch.setattr(least_squares, "_BATCH", request.param)


@pytest.fixture
def rows():
    return make_gaussian_network(6, n_samples=40, random_state=0)[0]


@pytest.mark.usefixtures("any_batches")
@pytest.mark.parametrize("chosen", [None, [4, 1], [2]])
def test_neighbours_are_regressions_with_a_parent_more_or_fewer(rows, chosen):
    factor, products = np.linalg.qr(rows, mode="r"), rows.T @ rows
    children = None if chosen is None else np.array(chosen)
    seen = []
    for found in neighbours(factor, bits_of(PARENTS, 6), children):
        for x, *log_determinants in zip(*found, strict=True):
            family = set(members_of(PARENTS[x]))
            for z, at_column in enumerate(zip(*log_determinants, strict=True)):
                changed = family if z == x else family ^ {z}
                expected = [
                    reference.log_det(products, sorted(s)) for s in (changed, changed | {x})
                ]
                assert at_column == pytest.approx(expected, abs=1e-12)
            seen.append(x)
    assert sorted(seen) == (list(range(6)) if chosen is None else sorted(chosen))


@pytest.mark.parametrize("others", [(), (1, 2)])
@pytest.mark.parametrize("digits", [2, 4, 6])
def test_what_a_family_leaves_of_nearly_collinear_columns_keeps_its_digits(digits, others):
    """A column's square less what the family explains would keep 16 - 2 * digits of them."""
    rows = nearly_collinear(digits, others=others)
    exact = reference.exact_log_rss(rows)
    factor = summarise(rows).factor
    factor = factor / np.linalg.norm(factor, axis=0)
    exact_units = np.array([exact[0, x] for x in range(6)])
    for parents in [[0] * 6, [0, 0b1, 0b11, 0b110, 0b101, 0b111], PARENTS]:
        for found in neighbours(factor, bits_of(parents, 6)):
            log_share = found.of_family - found.of_parents
            for x, shares in zip(found.children, log_share, strict=True):
                changed = [parents[x] if z == x else parents[x] ^ 1 << z for z in range(6)]
                expected = [exact[mask, x] - exact_units[x] for mask in changed]
                np.testing.assert_allclose(shares, expected, atol=10.0 ** (digits - 14), rtol=0)


@pytest.mark.usefixtures("any_batches")
def test_regressions_are_those_of_least_squares(rows):
    factor = np.linalg.qr(rows - rows.mean(axis=0), mode="r")
    seen = []
    for families in families_of(factor, bits_of(PARENTS, 6)):
        coefficients, left = families.regressions()
        for i, x in enumerate(families.children):
            parents = members_of(PARENTS[x])
            _, expected, rss = reference.regression(rows, x, parents)
            assert families.columns[i].tolist()[: len(parents) + 1] == [*parents, x]
            assert left[i] ** 2 == pytest.approx(rss, rel=1e-12)
            padded = [*expected, *[0.0] * (coefficients.shape[1] - len(parents))]
            np.testing.assert_allclose(coefficients[i], padded, atol=1e-12)
            seen.append(x)
    assert sorted(seen) == list(range(6))
