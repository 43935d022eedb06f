"""Whoever does what a message advises gets further: each case follows the advice of one message.

The cases are in `advice.txt`: a line of code that fails, then, for each piece of advice in its
message, a pattern of the message (?), code that does what it says (>), and the pattern of another
message if one is expected then (!). Where the message quotes code, the pattern takes it out as
`code`, and `{code}` puts it in.
"""

import re
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn

import skbn

try:
    import dask
    import dask.array
    import dask.dataframe
    import pyarrow
except ImportError:
    dask = pyarrow = None

COLUMNS = list("abcd")
SETTINGS = {name: getattr(skbn, name) for name in dir(skbn) if not name.startswith("_")}


def fit(X, weights=None, **settings):
    """Fit a learner in one short line."""
    return skbn.GaussianBNLearner(**settings).fit(X, sample_weight=weights)


def post(X, weights=None, **settings):
    return skbn.GaussianBNPosterior(**settings).fit(X, sample_weight=weights)


def listed(text):
    """Return the scores of a file in the jkl format."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scores"
        path.write_text(text, encoding="utf-8")
        return skbn.ParentSetScores.from_jkl(path)


def known(edges):
    """Return a graph with parameters."""
    dag = nx.DiGraph(edges)
    nx.set_edge_attributes(dag, 1.0, "weight")
    nx.set_node_attributes(dag, 1.0, "noise_variance")
    nx.set_node_attributes(dag, 0.0, "intercept")
    return dag


def tables(seed=0, n=40):
    """Return what the code of cases names."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, 4))
    A[:, 1] += 2 * A[:, 0]
    X = pd.DataFrame(A, columns=COLUMNS)
    H = X.mask(rng.random((n, 4)) < 0.05)
    C = X.assign(s=pd.Categorical(rng.choice(["f", "g", "h"], n)))
    names = {
        "np": np,
        "warnings": warnings,
        "pd": pd,
        "pl": pl,
        "pa": pyarrow,
        "nx": nx,
        "plt": plt,
        "dask": dask,
    }
    names |= {"numpy": np, "pandas": pd, "scipy": scipy, "fit": fit, "post": post}
    names |= {"learner": skbn.GaussianBNLearner, "posterior": skbn.GaussianBNPosterior}
    names |= {"listed": listed, "known": known}
    return (
        SETTINGS
        | names
        | {"A": A, "X": X, "H": H, "C": C, "rng": rng, "COLUMNS": COLUMNS, "w": np.ones(n)}
    )


def said(code, names):
    """Run the code, and return the text of its error or warning, if any."""
    try:
        with warnings.catch_warnings(), sklearn.config_context():
            warnings.simplefilter("error", UserWarning)
            exec(code, names)
    except (
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        ImportError,
        OSError,
        Warning,
    ) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        plt.close("all")
    return None


def cases():
    """Return the code that fails, a pattern, the code that follows and what is said then."""
    text = (Path(__file__).parent / "advice.txt").read_text(encoding="utf-8")
    found = re.findall(r"^(?!==)(\S.*)\n((?:  [?>!] .*\n)+)", text, re.MULTILINE)
    return [
        pytest.param(fails, *case, id=fails)
        for fails, advice in found
        for case in re.findall(r"  \? (.*)\n  > (.*)\n(?:  ! (.*)\n)?", advice)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("fails", "pattern", "follows", "then"), cases())
def test_advice_gets_further(fails, pattern, follows, then, monkeypatch):
    for module in ("pgmpy", "pgmpy.models"):  # as where it is not installed
        monkeypatch.setitem(sys.modules, module, None)
    if dask is None and re.search(r"\b(pa|dask)\.", fails):
        pytest.skip("dask or pyarrow is not installed")
    names = tables()
    message = said(fails, names)
    assert message, "nothing was said"
    found = re.search(pattern, message, re.DOTALL)
    assert found, message
    further = said(follows.replace("{code}", found.groupdict().get("code") or ""), names)
    if then:
        assert further, "nothing was said"
        assert re.search(then, further, re.DOTALL), further
        assert not re.search(pattern, further, re.DOTALL), further
    else:
        assert further is None, further


def test_all_cases_are_read():
    text = (Path(__file__).parent / "advice.txt").read_text(encoding="utf-8")
    assert len(cases()) == text.count("\n  ? ")
