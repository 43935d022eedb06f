"""Codes for missing values, copies and sums up to rounding, row numbers and repeated rows."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.datasets
from agreement import warned_by
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNLearner, GaussianBNPosterior
from skbn._data.suspicions import about_codes
from skbn.exceptions import MissingCodeWarning, RedundantColumnsWarning, RepeatedRowsWarning

N = 400
ABOUT_TABLES = MissingCodeWarning, RedundantColumnsWarning, RepeatedRowsWarning


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=[*"abcd"])
    X["b"] += X["a"]
    return (10 * X + 50).round(1)


def warnings_of(X, learner=None, **params):
    caught = warned_by((learner or GaussianBNLearner()).fit, X, **params)
    return {each.category: str(each.message) for each in caught}


def with_codes(values, *codes, share=0.1, seed=0):
    """A column in which a share of the rows has each code."""
    values, rng = np.array(values, dtype=float), np.random.default_rng(seed)
    for code in codes:
        values[rng.choice(len(values), int(share * len(values)), replace=False)] = code
    return values


AGES = np.random.default_rng(1).integers(18, 91, N)
HEIGHTS = np.random.default_rng(2).normal(170, 10, N).round()
CODED = [
    *((np.random.default_rng(3).normal(size=N), code) for code in (-999, 9999, 1e20, -99)),
    *((AGES, code) for code in (-1, -9, -99, 999)),
    *((HEIGHTS, 0), (HEIGHTS / 100, 0), (np.exp(HEIGHTS / 10), -1)),
    *((AGES % 5 + 1, code) for code in (-9, 99)),
]


@pytest.mark.parametrize("share", [0.02, 0.15, 0.4])
@pytest.mark.parametrize(("values", "code"), CODED)
def test_codes_are_named(values, code, share):
    column = with_codes(values, code, share=share)
    message = about_codes(["v"], column[:, np.newaxis], np.array([0]))
    assert f"'v' ({code:.17g} in {int(share * N)} rows)" in message


def test_several_codes():
    for codes in ((-9, -8, -7), (-999, 9999), (98, 99)):
        column = with_codes(AGES.clip(18, 75), *codes)
        message = about_codes([0], column[:, np.newaxis], np.array([0]))
        assert all(f"{code} in {(column == code).sum()} rows" in message for code in codes)


def test_counts_scales_and_long_tails_have_no_codes():
    rng = np.random.default_rng(0)
    normal, positive = rng.normal(size=(2, N)), rng.exponential(size=N)
    columns = [
        *(rng.poisson(2, N), rng.negative_binomial(1, 0.1, N), rng.poisson(8, N) * (normal[0] > 0)),
        *(normal[0] > 0, normal[0] > 2.5, AGES % 5, AGES % 5 - 2, np.sign(normal[0]).round()),
        *(positive, np.exp(2 * normal[0]), np.exp(2 * normal[0]).round(), rng.standard_cauchy(N)),
        *(positive.clip(0, 1), normal[0].clip(0), np.exp(normal[0] + 5) * (normal[1] > 0)),
        *(AGES - 18, AGES - 50, rng.integers(0, 101, N), rng.integers(0, 24, N)),
    ]
    rows = np.column_stack(columns).astype(float)
    assert about_codes([*range(rows.shape[1])], rows, np.arange(rows.shape[1])) == ""


def test_a_code_takes_the_place_of_skewness():
    for learner in (GaussianBNLearner(), GaussianBNPosterior("bge")):
        found = warnings_of(table().assign(a=with_codes(table()["a"], -999)), learner)
        assert [*found] == [MissingCodeWarning]


def test_values_that_were_set_are_no_codes():
    is_set = np.zeros((N, 4), dtype=bool)
    is_set[:40, 0] = True
    X = table().mask(is_set, 0.0)
    assert MissingCodeWarning not in warnings_of(X, interventions=is_set)
    assert MissingCodeWarning in warnings_of(X)


def shares(decimals):
    parts = np.exp(np.random.default_rng(5).normal(size=(N, 5)))
    return pd.DataFrame(parts / parts.sum(axis=1, keepdims=True) * 100, columns=[*"vwxyz"]).round(
        decimals
    )


@pytest.mark.parametrize(
    "X",
    [
        *(shares(0), shares(1), shares(3), StandardScaler().fit_transform(shares(2))),
        *(shares(9).astype("float32"), pl.from_pandas(shares(1))),
        table().assign(f=lambda X: (1.8 * X["a"] + 32).round(1)),
        table().assign(total=lambda X: (0.3 * X["a"] + 0.7 * X["b"]).round(1)),
        table().sort_values("a").assign(number=range(N)),
        table().assign(**{"Unnamed: 0": range(N)}).sample(frac=0.7, random_state=0),
    ],
)
def test_columns_that_say_nothing_of_their_own(X):
    found = warnings_of(X)
    message = found[RedundantColumnsWarning]
    (out,) = re.findall(r"columns (\[[^]]*\])(?: only number|\.$)", message)
    if isinstance(X, pd.DataFrame):
        assert RedundantColumnsWarning not in warnings_of(X.drop(columns=eval(out)))
        assert len(eval(out)) == 1


def test_what_needs_no_word():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(N, 2)), axis=0)
    near = table().assign(e=lambda X: X["a"] + np.random.default_rng(8).normal(size=N))
    quiet = [
        *(near, table().astype("float32"), shares(1).drop(columns="z")),
        table().assign(time=range(N)),
        table().assign(level=np.arange(N) + walk[:, 0], other=np.arange(N) * 2 + walk[:, 1]),
        table().sample(frac=1, replace=True, random_state=0),
        pd.DataFrame(np.random.default_rng(0).integers(1, 5, size=(2000, 4)).astype(float)),
    ]
    for X in quiet:
        assert not {*ABOUT_TABLES} & {*warnings_of(X)}
    number = table().assign(number=range(N))
    assert not warnings_of(number, GaussianBNLearner(exogenous=["number"]))


OF_STATSMODELS = (
    "anes96 ccard copper elnino fair grunfeld heart longley macrodata modechoice randhie scotland "
    "stackloss star98 statecrime"
)


def test_rows_that_a_merge_multiplied():
    X, times = table(n=100), np.random.default_rng(0).integers(1, 7, 100)
    for rows in (pd.concat([X] * 3), X.loc[X.index.repeat(2)], X.loc[X.index.repeat(times)]):
        message = warnings_of(rows)[RepeatedRowsWarning]
        assert f"The {len(rows)} rows are 100 different ones" in message
    assert {*warnings_of(pd.concat([X] * 3).reset_index(drop=True).reset_index())} == {
        RepeatedRowsWarning,
        RedundantColumnsWarning,
    }


@pytest.mark.parametrize(
    "X",
    [
        *(datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer),
        *(datasets.load_diabetes, datasets.load_linnerud),
        *(getattr(statsmodels.datasets, name).load_pandas for name in OF_STATSMODELS.split()),
    ],
)
def test_no_false_alarm(X):
    loaded = X(as_frame=True) if X.__module__.startswith("sklearn") else X()
    numbers = loaded.data.select_dtypes("number").dropna().iloc[:, :12]
    learner = GaussianBNLearner(search="order", criterion="bge")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in ABOUT_TABLES:
            warnings.simplefilter("error", each)
        learner.fit(numbers)
