"""Tables as users might give them by mistake, and what may come of them."""

import traceback
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import reference
import scipy.sparse
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skbn import GaussianBNLearner
from skbn.exceptions import DataWarning, MaxParentsWarning

try:
    import pyarrow
except ImportError:
    pyarrow = None

DTYPES = ["f4", "f2", "i1", "i8", "u8", "?", "c16", "O", "M8[D]", "m8[s]", "U5", "g"]
NAMES = st.one_of(
    st.text(max_size=8),
    st.integers(-3, 9),
    st.floats(),
    st.none(),
    st.booleans(),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.sampled_from(["a b", "größe", "日本", "x" * 300, "", "0", "\n", "$x$", b"b", pd.NaT]),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "criterion": st.sampled_from(["bic", "aic", "bge", "ebic", "loglik"]),
        "penalty": st.sampled_from([0, 1e-300, 5.5, 1e300]),
        "max_parents": st.integers(0, 4),
        "missing": st.just("em"),
    },
)


@st.composite
def numbers(draw):
    """Arrays of numbers, most of which can be fitted."""
    n, m = draw(st.integers(0, 16)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = rng.normal(size=(n, m))
    kind = draw(st.sampled_from(["plain", "whole", "units", "far", "tiny", "any", "dtype"]))
    with np.errstate(all="ignore"):
        if kind == "whole":
            rows = np.round(3 * rows)
        elif kind == "units":
            rows = rows * 10.0 ** rng.integers(-320, 308, size=m)
        elif kind == "far":
            rows = rows + 10.0 ** draw(st.integers(0, 300))
        elif kind == "tiny":
            rows = rows * 5e-324
        elif kind == "any" and rows.size:
            rows = draw(arrays(np.float64, (n, m)))
        if rows.size and m > 1 and draw(st.integers(0, 4)) == 0:
            rows[:, 0] = rows[:, 1] * draw(st.sampled_from([1, -2, 1e-9, 1e200]))
        if rows.size and draw(st.integers(0, 4)) == 0:
            rows[:, -1] = draw(st.sampled_from([0, 1, -1e300, 5e-324]))
        if rows.size and draw(st.integers(0, 4)) == 0:
            rows[rng.integers(n), rng.integers(m)] = draw(st.sampled_from([np.nan, np.inf, -0.0]))
    if kind == "dtype":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = (10 * rows).astype(draw(st.sampled_from(DTYPES)))
    return rows


@st.composite
def odd_tables(draw):
    """Those numbers in one of many containers."""
    rows = draw(numbers())
    m = rows.shape[1]
    if rows.dtype.kind == "f" and draw(st.integers(0, 3)) == 0:
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        rows[rng.random(rows.shape) < draw(st.sampled_from([0.05, 0.3]))] = np.nan
    form = draw(st.sampled_from(["array", "frame", "typed", "arrow", "list", "view", "other"]))
    if form == "frame":
        return pd.DataFrame(rows, columns=draw(st.lists(NAMES, min_size=m, max_size=m)))
    if form == "typed":
        frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(m)])
        with suppress(TypeError, ValueError, OverflowError, NotImplementedError):
            return frame.astype(draw(st.sampled_from(["object", "Float64", "category", "str"])))
        return frame
    if form == "arrow" and rows.dtype.kind in "fiub" and rows.dtype.itemsize <= 8:
        letters = st.text(
            st.characters(codec="utf-8", exclude_characters="\0"), max_size=3
        )  # polars panics
        names = draw(st.lists(letters, min_size=m, max_size=m, unique=True))
        frame = pl.DataFrame(dict(zip(names, rows.T, strict=True)))
        return frame if pyarrow is None or draw(st.booleans()) else frame.to_arrow()
    if form == "list":
        return rows.tolist()
    if form == "view":
        return np.asfortranarray(rows)[::-1]
    if form == "other" and rows.dtype.kind == "f" and rows.dtype.itemsize == 8:
        return draw(st.sampled_from([scipy.sparse.csr_matrix, np.ma.masked_invalid]))(rows)
    return rows


def outcome(table, options):
    """Fit a table: return "fitted" or the error's type; raise if neither is as documented."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in (DataWarning, MaxParentsWarning):  # which such tables and limits deserve
            warnings.simplefilter("ignore", category)
        try:
            learner = GaussianBNLearner(**options).fit(table)
        except (TypeError, ValueError) as error:
            origin = traceback.extract_tb(error.__traceback__)[-1].filename
            if "skbn" not in origin and "sklearn" not in origin:
                raise AssertionError(f"undocumented, from {origin}: {error}") from error
            return type(error).__name__
        assert learner.predict().number_of_nodes() == learner.n_features_in_
        assert not np.isnan(learner.score(table))
    is_plain = type(table) is np.ndarray and table.dtype == np.float64 and not options
    if is_plain and 0.1 < np.abs(table).max() < 100 and np.linalg.cond(table) < 1e3:
        scores = reference.all_local_scores(table)
        best = reference.best_score_by_dynamic_program(scores, table.shape[1])
        assert abs(learner.network_score_ - best) < 1e-6
    return "fitted"
