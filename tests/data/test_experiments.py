"""What users give as interventions, and how it is read."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from agreement import raises
from experiment_tables import experiment
from numpy.testing import assert_array_equal

from skbn._data.experiments import read_interventions
from skbn._data.sample import Sample

NAMES = ["a", "b", "c"]
ROWS, IS_SET = experiment(3, [{0}, {1, 2}], n=4)
N = len(ROWS)
LABELS = pd.Index([f"r{i}" for i in range(N)])
NAMED = [tuple(np.array(NAMES)[row]) for row in IS_SET]
NUMBERED = [np.flatnonzero(row).tolist() for row in IS_SET]
SHUFFLED = np.random.default_rng(0).permutation(N)


def read(interventions, labels=None, names=NAMES):
    return read_interventions(interventions, Sample(ROWS, None, labels), names)


def single(names):
    """None, a name or a tuple of names."""
    return [(names[0] if len(names) == 1 else names) if names else None for names in NAMED]


@pytest.mark.parametrize(
    "interventions",
    [
        IS_SET,
        IS_SET.tolist(),
        [tuple(row) for row in IS_SET.tolist()],
        list(IS_SET),
        np.asfortranarray(IS_SET),
        pd.DataFrame(IS_SET, columns=NAMES),
        pd.DataFrame(IS_SET, columns=NAMES)[["c", "a", "b"]],
        pd.DataFrame(IS_SET, columns=NAMES).astype("boolean"),
        pl.DataFrame(IS_SET, schema=NAMES),
        pl.DataFrame(IS_SET, schema=NAMES).select("c", "b", "a"),
        NAMED,
        single(NAMED),
        tuple(single(NAMED)),
        [set(names) for names in NAMED],
        NUMBERED,
        [np.array(numbers, dtype=int) for numbers in NUMBERED],
        [names or np.nan for names in single(NAMED)],
        [names or pd.NA for names in single(NAMED)],
        np.array([*single(NAMED), None], dtype=object)[:-1],
        pd.Series(single(NAMED)),
        pl.Series(NAMED),
    ],
    ids=lambda each: type(each).__name__,
)
def test_forms(interventions):
    found = read(interventions)
    assert_array_equal(found, IS_SET)
    assert found.flags.writeable
    assert not np.shares_memory(found, IS_SET)


def test_texts_in_series():
    expected = np.zeros((N, 3), bool)
    expected[::2, 1] = True
    names = ["b" if i % 2 == 0 else None for i in range(N)]
    for series in (
        names,
        pd.Series(names),
        pd.Series(names, dtype="string"),
        pd.Series(names, dtype="category"),
        pl.Series(names),
        pd.Series([1 if name else np.nan for name in names], dtype="Int64"),
    ):
        assert_array_equal(read(series), expected)


def test_a_frame_may_lack_columns():
    for frame in (pd.DataFrame({"b": IS_SET[:, 1]}), pl.DataFrame({"b": IS_SET[:, 1]})):
        assert_array_equal(read(frame), IS_SET & [False, True, False])
    assert not read(pd.DataFrame(index=range(N))).any()


CODED = np.arange(N) % 4  # as bnlearn does: 0 for none, then the columns from 1


@pytest.mark.parametrize(
    "interventions",
    [
        *(CODED, CODED.tolist(), CODED.astype(float), CODED[:, np.newaxis], pl.Series(CODED)),
        *(pd.Series(CODED), pd.Series(CODED, dtype="Int64"), np.where(CODED, CODED, np.nan)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_numbers_in_all_rows_are_refused(interventions):
    raises("in bnlearn. Give a tuple of columns for each row, such as .2,.", read, interventions)
    tuples = [(int(k) - 1,) if k > 0 else None for k in CODED]
    assert_array_equal(read(tuples), CODED[:, np.newaxis] == [1, 2, 3])


def test_labels_match_rows():
    frame = pd.DataFrame(IS_SET, columns=NAMES, index=LABELS)
    series = pd.Series(single(NAMED), index=LABELS)
    for given_ in (frame.iloc[SHUFFLED], series.iloc[SHUFFLED], frame, series):
        assert_array_equal(read(given_, LABELS), IS_SET)
    for given_ in (frame.set_axis([*LABELS[1:], "x"]), series.set_axis([*LABELS[1:], "x"])):
        raises(r"interventions has no value .* labelled 'r0'", read, given_, LABELS)
    # Arrays and lists are in the order of the rows.
    assert_array_equal(read(IS_SET, LABELS), IS_SET)
    assert_array_equal(read(pl.DataFrame(IS_SET, schema=NAMES), LABELS), IS_SET)


def test_columns_without_names_go_by_number():
    frame = pd.DataFrame(IS_SET)
    assert_array_equal(read(frame, names=[0, 1, 2]), IS_SET)
    assert_array_equal(read(frame[[2, 0]], names=[0, 1, 2]), IS_SET & [True, False, True])
    assert_array_equal(read(NUMBERED, names=[0, 1, 2]), IS_SET)


@pytest.mark.parametrize(
    ("interventions", "error", "message"),
    [
        (IS_SET[:-1], ValueError, f"each of the {N} rows of X; got {N - 1}"),
        (NAMED[:-1], ValueError, f"each of the {N} rows of X; got {N - 1}"),
        (pd.DataFrame(IS_SET[:-1], columns=NAMES), ValueError, f"{N} rows of X; got {N - 1}"),
        (IS_SET[:, :2], ValueError, r"each of the 3 columns or nodes of X; its shape is \(12, 2\)"),
        (IS_SET[:, :, np.newaxis], TypeError, r"boolean array .*; got an array of shape"),
        ([[True, False]] * N, ValueError, "3 columns or nodes of X in each row; row 0 has 2"),
        ([[True, False, True]] + [[True]] * (N - 1), ValueError, "row 1 has 1"),
        (IS_SET.astype(int), TypeError, r"array of int64\. If its numbers .* astype\(bool\)"),
        (IS_SET * 0.5, TypeError, "exogenous column"),
        (IS_SET.astype(object), TypeError, r"astype\(bool\)"),
        (pd.DataFrame(IS_SET * 1, columns=NAMES), TypeError, r"column 'a' has the dtype int64"),
        (pl.DataFrame(IS_SET * 1, schema=NAMES), TypeError, r"column 'a' has the dtype"),
        (
            pd.DataFrame(IS_SET, columns=NAMES).astype("boolean").where(~IS_SET),
            (TypeError, ValueError),
            r"column 'a'",
        ),
        (pd.DataFrame(IS_SET, columns=[*"abx"]), ValueError, "interventions: There is no .* 'x'"),
        (pd.DataFrame(IS_SET, columns=[*"aba"]), ValueError, "'a'"),
        (["x"] * N, ValueError, r"of row 0: There is no column 'x'.* Give columns of X"),
        ([None] * (N - 1) + [("a", "x")], ValueError, r"of row 11: There is no column 'x'"),
        ([None, *[3] * (N - 1)], ValueError, "of row 1: There is no column 3"),
        ([None, *[0.5] * (N - 1)], TypeError, "of row 1: A column is given by its name or its num"),
        (IS_SET[:, 0], TypeError, r"row 0 is False\. If it says"),
        (pd.Series(IS_SET[:, 0]), TypeError, r"row 0 is False\. If it says"),
        ("a", TypeError, "got 'a'"),
        (3, TypeError, "interventions must be a boolean array"),
        (True, TypeError, "interventions must be a boolean array"),
        (np.array(True), TypeError, "interventions must be a boolean array"),
        ({"a": [True] * N}, TypeError, r"got \{'a'"),
        ({"a", "b"}, TypeError, "interventions must be a boolean array"),
        (iter(NAMED), TypeError, "got .*(generator|iterator)"),
        ((each for each in NAMED), TypeError, "got .*(generator|iterator)"),
        ([{"a": 1.0}] * N, TypeError, "of row 0: "),
        ([[["a"]]] * N, TypeError, "of row 0: "),
    ],
)
def test_errors(interventions, error, message):
    raises(message, read, interventions, kind=error)


# Samples


def sample(is_set=IS_SET, weight=None):
    return Sample(ROWS, weight, None, None, is_set.copy())


def test_rows_are_taken_with_their_interventions():
    some = sample()[[3, 1, 1]]
    assert_array_equal(some.rows, ROWS[[3, 1, 1]])
    assert_array_equal(some.is_set, IS_SET[[3, 1, 1]])
    weight = np.arange(float(N))
    assert_array_equal(sample().weighted(weight).is_set, IS_SET)
    assert_array_equal(sample(weight=weight)[[3, 1]].weight, weight[[3, 1]])


def test_groups_and_targets():
    for (nodes, group), expected in zip(sample().groups, [[0], [1, 2]], strict=True):
        assert nodes == expected
        assert_array_equal(group.rows, ROWS[~IS_SET[:, nodes[0]]])
    assert sample().targets == [0b001, 0b110]
    kept = sample().without_rows()
    assert kept.targets == [0b001, 0b110]
    assert [nodes for nodes, _ in kept.groups] == [[0], [1, 2]]
    # Rows of weight 0 set nothing.
    assert sample(weight=1.0 - IS_SET[:, 0]).targets == [0b110]


def test_columns_that_were_never_set():
    assert_array_equal(sample().never_set([1]).is_set, IS_SET & [True, False, True])
    left = sample().never_set([0])
    assert left.targets == [0b110]
    assert type(sample().never_set([0, 1, 2])) is Sample
    only = sample(IS_SET & [True, False, False])
    assert only.never_set([1, 2]) is only
