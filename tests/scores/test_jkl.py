"""The text format of GOBNILP: each file is read as a plain reader reads it, or refused."""

import itertools
import math
import re

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises

from skbn import GaussianBNLearner, LocalScores, LocalScoreTransformer, ParentSetScores
from skbn._exact.plan import plan_search
from skbn.datasets import make_gaussian_network

JKL = """META pss_version = 0.1
3
x1 3
-9.5 0
-7.25 1 x10
-7.0 2 x10 é
x10 2
-8.0 0
5e-324 1 x1

é 3
-0.0 0
-1.0000000000000002e+299 1 x10
-4.5 1 x1
"""
JKL_TOKENS = [
    *["0", "1", "2", "-1", "3", "007", "+1", "1.0", "1e0", "999999999999", "9" * 5000],
    *["-1e400", "1e301", "nan", "-inf", "0x1p3", "1_000", "-1_0", "-٣", "-5e-324", "-0.0"],
    *["x1", "x10", "x", "é", "e\u0301", "x1\0", "\ufeff", "\u2028", "META", "#", "x1\r", "\f"],
]


def written(tmp_path, text):
    path = tmp_path / "scores.jkl"
    path.write_text(text, encoding="utf-8")
    return path


def read(tmp_path, text):
    return ParentSetScores.from_jkl(written(tmp_path, text))


def mutated(text, rng):
    """Delete, insert, repeat and replace some tokens, lines and bytes of a text."""
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["token", "token", "line", "byte"])
        if kind == "byte":
            data = text.encode("utf-8", "surrogateescape")
            i = rng.randrange(len(data) + 1)
            new = bytes(rng.choices(range(256), k=rng.randint(0, 1)))
            data = data[:i] + new + data[i + rng.randint(0, 1) :]
            text = data.decode("utf-8", "surrogateescape")
            continue
        parts = re.split(r"(?<=[ \n])|(?=[ \n])" if kind == "token" else r"(?<=\n)", text)
        i = rng.randrange(len(parts))
        new = rng.choice([*JKL_TOKENS, "", rng.choice(parts)] if kind == "token" else ["", *parts])
        parts[i : i + rng.randint(0, 1)] = [new, rng.choice(["", " ", "\n"])]
        text = "".join(parts)
    return text


NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def plainly_read_jkl(data):
    """Return the scores by child and set of parents, or None if it is no such file."""
    text = data.decode("utf-8-sig", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    lines = [line.split() for line in text.split("\n") if line.split()]
    lines = list(itertools.dropwhile(lambda fields: fields[0] == "META", lines))

    def count(text):
        return int(text) if re.fullmatch("[0-9]{1,18}", text) else math.inf

    scores = {}
    try:
        n_columns = count(" ".join(lines.pop(0)))
        if not 1 <= n_columns <= 32767:
            return None
        while len(scores) < n_columns:
            child, n = lines.pop(0)
            if child in scores or count(n) > len(lines):
                return None
            scores[child] = {}
            for fields in [lines.pop(0) for _ in range(count(n))]:
                parents = frozenset(fields[2:])
                is_new = parents not in scores[child] and child not in parents
                if not is_new or not count(fields[1]) == len(parents) == len(fields) - 2:
                    return None
                if not NUMBER.fullmatch(fields[0]):
                    return None
                scores[child][parents] = float(fields[0])
    except (IndexError, ValueError):
        return None
    values = [score for each in scores.values() for score in each.values()]
    named = set(scores).union(*(parents for each in scores.values() for parents in each))
    is_cut = not text[-1].isspace() and len(fields) > 2 and fields[-1:] != []
    is_cut = is_cut and any(x != fields[-1] and x.startswith(fields[-1]) for x in scores)
    if lines or named - set(scores) or is_cut or not all(abs(x) <= 1e300 for x in values):
        return None
    return None if re.search("[\0-\x1f\x7f-\x9f\ud800-\udfff]", "".join(named)) else scores


def contents(scores):
    """Return the scores by child and set of parents, with the sign of a zero."""
    return {
        child: {
            frozenset(parents): float.hex(score)
            for parents, score, _ in scores.top_parents(child, 1000)
        }
        for child in scores.columns
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "scores"


def check_jkl(path, data):
    """Hold a file against the plain reader; return whether it was read."""
    path.write_bytes(data)
    expected = plainly_read_jkl(data)
    if expected is None:
        message = re.escape(f"{path}, line ") + r"\d+: .{1,400}\.$"
        raises(message, ParentSetScores.from_jkl, path)
        return False
    scores = ParentSetScores.from_jkl(path)
    assert scores.columns == list(expected)
    assert contents(scores) == {
        child: {parents: float.hex(score) for parents, score in each.items()}
        for child, each in expected.items()
    }
    return True


@hypothesis.given(st.randoms(use_true_random=False))
@hypothesis.settings(max_examples=200)
def test_changed_local_scores_are_read_plainly_or_refused(path, rng):
    check_jkl(path, mutated(JKL, rng).encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_local_scores_that_end_anywhere(path, line_end):
    data = JKL.replace("\n", line_end).encode()
    read = [end for end in range(len(data) + 1) if check_jkl(path, data[:end])]
    first = len(data) - len(line_end)
    assert read == [*range(first + 1, len(data) + 1)]  # x1 may be the beginning of x10
    assert check_jkl(path, b"\xef\xbb\xbf" + data)
    assert not check_jkl(path, data.decode().encode("utf-16"))
    assert not check_jkl(path, data.decode().encode("latin-1"))


def test_the_rest_of_a_name_may_be_missing(path):
    lines = ["2", "x 1", "-1 0", "x1 1", "-1 1 x"]
    path.write_text("\n".join(lines), encoding="utf-8")
    raises(r"line 5: .* cut off: it ends .* with 'x', .* 'x1'", ParentSetScores.from_jkl, path)
    path.write_text("\n".join(lines) + " ", encoding="utf-8")
    assert ParentSetScores.from_jkl(path).local_score("x1", ["x"]) == -1
    path.write_text("\n".join([lines[0], *lines[3:], *lines[1:3]]), encoding="utf-8")
    assert ParentSetScores.from_jkl(path).local_score("x1", ["x"]) == -1


@pytest.mark.parametrize("n_columns", [64, pytest.param(1000, marks=pytest.mark.slow)])
def test_more_columns_than_a_dynamic_program_can_have(path, n_columns):
    lists = "".join(f"v{j} 1\n-1 0\n" for j in range(n_columns))
    path.write_text(f"{n_columns}\n{lists}", encoding="utf-8")
    learner = GaussianBNLearner().fit(ParentSetScores.from_jkl(path))
    assert learner.network_score_ == -n_columns
    assert learner.is_optimal_
    assert 0 <= learner.optimality_gap_ <= learner.tol
    assert not learner.dag_.edges


def test_more_columns_than_python_has_digits_for():
    raises(r"over 15000 columns needs 7\.1e\+4499 EB", plan_search, 15_000, 1)


def test_many_columns_in_tiers(path):
    m = 200
    lines = [f"v{j} 2\n-2 0\n-1 1 v{(j + 1) % m}\n" for j in range(m)]
    path.write_text(f"{m}\n{''.join(lines)}", encoding="utf-8")
    tiers = [[f"v{j}" for j in range(first, first + 10)] for first in range(0, m, 10)]
    learner = GaussianBNLearner(tiers=tiers).fit(ParentSetScores.from_jkl(path))
    # In each tier but the last one lies no parent of its last column; in it, the first tier does.
    assert learner.network_score_ == -2 * 19 - 1 * 181
    assert len(learner.dag_.edges) == 181


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 0: the file ends; expected the number of columns"),
        ("three\n", "line 1: expected a number of at least 1; got 'three'"),
        ("99999\n", "line 1: 99999 is more than 32767, the largest number of columns"),
        ("2\na 1\n-1 0\n", "line 3: the file ends; expected a column's name"),
        ("2\na 2\n-1 0\n", "line 3: the file ends; expected a score"),
        ("1\na 999999999999\n-1 0\n", "line 3: the file ends; expected a score"),
        ("1\na b 1\n-1 0\n", "line 2: expected a column's name .* got 'a b 1'"),
        ("2\na 1\n-1 0\na 1\n-1 0\n", "line 4: the column 'a' is repeated"),
        ("1\na 1\nnan 0\n", "line 3: 'nan' is not a finite score"),
        ("1\na 1\n-inf 0\n", "line 3: '-inf' is not a finite score"),
        ("1\na 1\nbest 0\n", "line 3: 'best' is not a finite score"),
        ("1\na 1\n-1_0 0\n", "line 3: '-1_0' is not a finite score"),
        ("1\na 1\n-٣ 0\n", "line 3: '-٣' is not a finite score"),
        ("1\na 1\n-1e999 0\n", "line 3: '-1e999' is not a finite score"),
        ("1\na 1\n-1e301 0\n", r"line 3: the score '-1e301' is beyond 1e\+300"),
        ("1\na ٣\n", "line 2: expected a number of at least 0; got '٣'"),
        ("1\na -1\n", "line 2: expected a number of at least 0; got '-1'"),
        ("1\na\0 1\n-1 0\n", "line 2: the name 'a.x00' has bytes that are not UTF-8, or control"),
        ("2\na 1\n-1 2 b b\nb 1\n-1 0\n", "line 3: a parent is named twice"),
        ("1\na 1\n-1\n", "line 3: expected a score, a number of parents"),
        ("2\na 1\n-1 2 b\nb 1\n-1 0\n", "line 3: .*; 1 names follow"),
        ("2\na 2\n-1 0\n-1 1 c\nb 1\n-1 0\n", "line 4: the parent 'c' is not a column"),
        ("2\na 1\n-1 1 a\nb 1\n-1 0\n", "line 3: a parent is named twice, or is the child itself"),
        ("2\na 2\n-1 1 b\n-2 1 b\nb 1\n-1 0\n", "line 4: the same set of parents is repeated"),
        ("1\na 1\n-1 0\nb 1\n", "line 4: the file goes on after the last column"),
    ],
)
def test_files_of_another_format(tmp_path, text, message):
    raises(message, read, tmp_path, text)


def test_names_that_the_format_cannot_hold(tmp_path):
    frame = pd.DataFrame({"a b": [1.0, 2, 4, 3], "c": [2.0, 1, 5, 9]})
    scores = LocalScoreTransformer().fit_transform(frame)
    raises("Column 'a b' cannot be written", scores.to_jkl, tmp_path / "scores.jkl")
    assert not list(tmp_path.iterdir())


def test_a_failed_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = written(tmp_path, JKL)
    scores = LocalScoreTransformer().fit_transform(np.eye(4)[:, :3])
    monkeypatch.setattr(LocalScores, "_families_to_write", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scores.to_jkl(path)
    assert [each.name for each in tmp_path.iterdir()] == ["scores.jkl"]
    assert path.read_text(encoding="utf-8") == JKL


def test_names_and_marks_that_look_like_something_else(tmp_path):
    frame = pd.DataFrame(np.eye(5)[:, :3], columns=["METHANE", "META", "3"])
    scores = LocalScoreTransformer().fit_transform(frame)
    path = tmp_path / "scores.jkl"
    scores.to_jkl(path)
    assert ParentSetScores.from_jkl(path).columns == ["METHANE", "META", "3"]
    text = "\ufeffMETA pss_version = 0.1\n" + path.read_text(encoding="utf-8")
    assert read(tmp_path, text).columns == ["METHANE", "META", "3"]
    assert path.stat().st_mode & 0o044


# Round trips


@pytest.mark.parametrize("max_parents", [None, 3])
@pytest.mark.parametrize("criterion", ["bic", "loglik"])
def test_round_trip_keeps_the_optimum(tmp_path, criterion, max_parents):
    rows = make_gaussian_network(6, n_samples=60, random_state=0)[0]
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(6)])
    scores = LocalScoreTransformer(criterion, max_parents=max_parents).fit_transform(frame)
    path = tmp_path / "scores.jkl"
    scores.to_jkl(path)
    read = ParentSetScores.from_jkl(path)
    local = {
        (x, p): scores.local_score(x, p)
        for x, p in reference.families(6)
        if len(p) <= (max_parents or 6)
    }
    kept = {
        (x, p)
        for (x, p), score in local.items()
        if all(local[x, q] < score for q in reference.subsets(p) if q != p)
    }
    assert read.n_families == len(kept)
    for x, p in kept:
        assert read.local_score(x, p) == pytest.approx(local[x, p], abs=1e-10)
    learner, again = GaussianBNLearner().fit(scores), GaussianBNLearner().fit(read)
    assert again.network_score_ == pytest.approx(learner.network_score_, abs=1e-9)
    read.to_jkl(tmp_path / "again.jkl")
    assert (tmp_path / "again.jkl").read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


names = st.text(max_size=4)
scores_of_any_size = st.floats(-1e300, 1e300)


@hypothesis.given(st.lists(names, min_size=2, max_size=3, unique=True), st.data())
@hypothesis.settings(max_examples=60)
def test_listed_families_are_written_as_they_are_or_refused(path, columns, data):
    families = []
    for child in range(len(columns)):
        others = [v for v in range(len(columns)) if v != child]
        sets = [[], *([v] for v in others), *([others] if len(others) > 1 else [])]
        rows = [each + [-1] * (2 - len(each)) for each in sets]
        kept = [row for row in rows if data.draw(st.booleans())]
        values = [data.draw(scores_of_any_size) for _ in kept]
        families.append((np.array(kept, dtype=np.int16).reshape(-1, 2), values))
    scores = ParentSetScores(columns, families)
    path.write_text("old", encoding="utf-8")
    if any(re.search(r"[\s\0-\x1f\x7f-\x9f]|^$", name) for name in columns):
        raises("cannot be written", scores.to_jkl, path)
        assert path.read_text(encoding="utf-8") == "old"
        return
    scores.to_jkl(path)
    again = ParentSetScores.from_jkl(path)
    assert again.columns == columns
    assert contents(again) == contents(scores)
    text = path.read_bytes()
    again.to_jkl(path)
    assert path.read_bytes() == text


def test_names_and_scores_that_a_file_cannot_hold(path):
    # With pyarrow installed, pandas keeps names in its strings, which cannot hold the second.
    names = pd.Index(["a", "b\ud800"], dtype=object)
    frame = pd.DataFrame(np.eye(5)[:, :2], columns=names)
    scores = LocalScoreTransformer().fit_transform(frame)
    raises(r"'b.ud800' cannot be written", scores.to_jkl, path)


# ParentSetScores: scores without rows, and the best network of listed families


# The example of https://www.cs.helsinki.fi/group/coreo/bbmarkov/ (Cussens' file format).
BBMARKOV = """3
0 4
-195.673828 2 1 2
-194.647797 1 2
-189.098404 1 1
-193.265869 0
1 4
-517.531555 1 2
-587.681213 1 0
-518.557739 2 0 2
-591.848389 0
2 4
-562.807800 2 0 1
-556.232178 1 1
-631.931213 1 0
-630.549072 0
"""


def test_published_example(tmp_path):
    scores = read(tmp_path, BBMARKOV)
    assert scores.columns == ["0", "1", "2"]
    assert scores.n_families == 12
    assert scores.local_score("1", ["2", "0"]) == -518.557739
    assert scores.best_parents("0") == ["1"]
    assert scores.best_parents("0", ["2"]) == []
    top = scores.top_parents("2", 2)
    assert [parents for parents, _, _ in top] == [["1"], ["0", "1"]]
    assert top[1].difference == pytest.approx(-562.8078 + 556.232178)
    local = {
        (x, p): scores.local_score(str(x), [str(q) for q in p]) for x, p in reference.families(3)
    }
    learner = GaussianBNLearner().fit(scores)
    best = max(sum(local[x, p] for x, p in enumerate(dag)) for dag in reference.all_dags(3))
    assert learner.network_score_ == pytest.approx(best)
    assert set(learner.dag_.edges) in ({("1", "0"), ("1", "2")}, {("1", "0"), ("2", "1")})


def test_a_learner_of_listed_families(tmp_path):
    rows = make_gaussian_network(4, n_samples=60, random_state=0)[0]
    frame = pd.DataFrame(rows, columns=list("abcd"))
    path = tmp_path / "scores.jkl"
    LocalScoreTransformer().fit_transform(frame).to_jkl(path)
    scores = ParentSetScores.from_jkl(path)
    edge = next(edge for edge in GaussianBNLearner().fit(scores).dag_.edges)
    learner = GaussianBNLearner(required_edges=[edge]).fit(scores)
    assert edge in learner.dag_.edges
    assert learner.criterion_ is None
    assert [known for known, data in learner.dag_.edges.items() if data] == [edge]
    assert learner.dag_.edges[edge] == {"fixed": True}  # and no weight
    fitted = learner.network_.fit(frame)
    assert np.isfinite(fitted.score(frame))
    assert nx.utils.graphs_equal(nx.DiGraph(fitted.dag.edges), nx.DiGraph(learner.dag_.edges))


def test_constraints_that_no_listed_family_satisfies(tmp_path):
    scores = read(tmp_path, "2\na 1\n-1 0\nb 1\n-1 0\n")
    assert not GaussianBNLearner().fit(scores).dag_.edges
    message = r"Column 'b' has no listed family that has the required parents \['a'\]"
    raises(message, GaussianBNLearner(required_edges=[("a", "b")]).fit, scores)
    only_cycles = read(tmp_path, "2\na 1\n-1 1 b\nb 1\n-1 1 a\n")
    message = r"No acyclic network of the columns \['a', 'b'\] has a finite"
    raises(message, GaussianBNLearner().fit, only_cycles)


def test_settings_that_listed_families_do_not_have(tmp_path):
    scores = read(tmp_path, BBMARKOV)
    message = "criterion='bic' was asked for, but the ParentSetScores"
    raises(message, GaussianBNLearner("bic").fit, scores)
    raises("X is already ParentSetScores", LocalScoreTransformer().fit, scores, kind=TypeError)
    learner = GaussianBNLearner(max_parents=0).fit(scores)
    assert not learner.dag_.edges
    assert set(learner.predict(scores)) == {"0", "1", "2"}
    raises("ParentSetScores have no rows", learner.score, scores, kind=TypeError)


def test_a_child_without_families(tmp_path):
    scores = read(tmp_path, "2\na 0\nb 1\n-1 0\n")
    raises("Column 'a' has no listed family that satisfies", GaussianBNLearner().fit, scores)
    raises("Column 'a' has no family with a finite score", scores.best_parents, "a")
    assert scores.top_parents("a") == []


ALONE = [[-1]], [0.0]


@pytest.mark.parametrize(
    "listed",
    [
        *((rows, [1.0]) for rows in ([[0]], [[2, 1]], [[-1, 1]], [[3]])),
        *((rows, [1.0]) for rows in ([["1"]], [[True]], [[1.0]])),
        *(([[1]], values) for values in ([np.nan], [1.0, 2.0], [1.1e300], ["1.0"])),
        *((rows, [1.0, 2.0]) for rows in ([[1], [1]], [[1], [1, 2]])),
        *((rows, [1.0]) for rows in (np.array([[65537]]), [[-65535]])),
    ],
)
def test_families_that_are_no_families(listed):
    message = "families of column 'a' must be rows of other columns'"
    raises(message, ParentSetScores, ["a", "b", "c"], [listed, ALONE, ALONE])


def test_labelled_scores_belong_to_the_rows_of_their_labels():
    parents = pd.DataFrame([[-1], [1]], index=["none", "b"])
    values = pd.Series({"b": 2.0, "none": 1.0})
    scores = ParentSetScores(["a", "b"], [(parents, values), ALONE])
    assert scores.local_score("a", ["b"]) == 2.0
    turned = [[-1], [1]], pd.Series([2.0, 1.0], [1, 0])
    raises(r"scores of column 'a'.*another order", ParentSetScores, ["a", "b"], [turned, ALONE])
    message = r"families must be a list .* order of the columns; got dict"
    raises(message, ParentSetScores, ["a", "b"], {"b": ALONE, "a": ALONE}, kind=TypeError)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "a"], "Columns must differ; got 'a' twice"),
        (["a", 1], "named by strings; got 1"),
        (["a"], "got 1 columns and 2 lists"),
        ([], "from 1 to 32767 columns"),
    ],
)
def test_columns_that_are_no_columns(columns, message):
    raises(message, ParentSetScores, columns, [ALONE] * (len(columns) + (columns == ["a"])))
