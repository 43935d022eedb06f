"""The flops that docs/benchmarks.md says the four ways to all regressions take."""

import sys
from math import comb
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))


def greedy(m):
    return 3 * m * 2**m + 6 * 2**m - 3 * m**2 - 9 * m - 6


def clarke(m):
    n = m - 1
    return m * (greedy(n) + 6 * (2**n - n - 1))


def dropping_columns(m):
    n = m - 1
    return m * (21 * 2**n - 3 * n**2 - 15 * n - 24)


def brute_force(m):
    return sum(m * comb(m - 1, k) * (k + 1) * (k + 2) * (2 * k + 3) // 6 for k in range(m))


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 4, 7, 10])
def test_counted_flops(m):
    import all_regressions

    counted = {name: flops for name, (_, flops, _, _) in all_regressions.run(m).items()}
    assert counted == {
        "greedy swaps": greedy(m),
        "DCA": dropping_columns(m),
        "Clarke": clarke(m),
        "brute force": brute_force(m),
    }
