"""Which cases of a test are slow."""

import pytest


def first_fast(n, cases):
    """Return all cases of a parametrised test, of which those after the first n are slow."""
    fast, slow = [*cases][:n], [*cases][n:]
    as_tuples = (case if isinstance(case, tuple) else (case,) for case in slow)
    return [*fast, *(pytest.param(*case, marks=pytest.mark.slow) for case in as_tuples)]
