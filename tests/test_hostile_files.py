"""Files from anyone: each is read as a plain reader reads it, or refused with the place."""

import itertools
import math
import random
import re

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest

from skbn import GaussianBNLearner, LocalScoreTransformer, ParentSetScores
from skbn._exact.plan import plan_search

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


def mutated(text, tokens, split, rng):
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
        parts = re.split(split if kind == "token" else r"(?<=\n)", text)
        i = rng.randrange(len(parts))
        new = rng.choice([*tokens, "", rng.choice(parts)] if kind == "token" else ["", *parts])
        parts[i : i + rng.randint(0, 1)] = [new, rng.choice(["", " ", "\n"])]
        text = "".join(parts)
    return text


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
                if not re.fullmatch(
                    r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", fields[0]
                ):
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
        with pytest.raises(ValueError, match=message):
            ParentSetScores.from_jkl(path)
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
    text = mutated(JKL, JKL_TOKENS, r"(?<=[ \n])|(?=[ \n])", rng)
    check_jkl(path, text.encode("utf-8", "surrogateescape"))


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
    with pytest.raises(ValueError, match=r"line 5: .* cut off: it ends with 'x', .* column 'x1'"):
        ParentSetScores.from_jkl(path)
    path.write_text("\n".join(lines) + " ", encoding="utf-8")
    assert ParentSetScores.from_jkl(path).local_score("x1", ["x"]) == -1
    path.write_text("\n".join([lines[0], *lines[3:], *lines[1:3]]), encoding="utf-8")
    assert ParentSetScores.from_jkl(path).local_score("x1", ["x"]) == -1


def test_one_large_set_among_many_small_ones(path):
    n = 14_000
    path.write_text(
        f"{n}\na 10001\n-1 {n - 1} {' '.join(f'v{j}' for j in range(1, n))}\n"
        + "-1 0\n" * 10_000
        + "".join(f"v{j} 0\n" for j in range(1, n)),
        encoding="utf-8",
    )
    with pytest.raises(ValueError, match=r"line 3: .* column 'a' has 13,999 members"):
        ParentSetScores.from_jkl(path)


@pytest.mark.parametrize("n_columns", [64, 3000])
def test_more_columns_than_a_search_can_have(path, n_columns):
    path.write_text(
        f"{n_columns}\n" + "".join(f"v{j} 1\n-1 0\n" for j in range(n_columns)), encoding="utf-8"
    )
    scores = ParentSetScores.from_jkl(path)
    with pytest.raises(ValueError, match=rf"over {n_columns} columns needs .* EB of memory"):
        GaussianBNLearner().fit(scores)


def test_more_columns_than_python_has_digits_for():
    with pytest.raises(ValueError, match=r"over 15000 columns needs 7\.1e\+4499 EB"):
        plan_search(15_000, 1)


def test_many_columns_in_tiers(path):
    m = 200
    lines = [f"v{j} 2\n-2 0\n-1 1 v{(j + 1) % m}\n" for j in range(m)]
    path.write_text(f"{m}\n{''.join(lines)}", encoding="utf-8")
    tiers = [[f"v{j}" for j in range(first, first + 10)] for first in range(0, m, 10)]
    learner = GaussianBNLearner(tiers=tiers).fit(ParentSetScores.from_jkl(path))
    # In each tier but the last one lies no parent of its last column; in it, the first tier does.
    assert learner.network_score_ == -2 * 19 - 1 * 181
    assert len(learner.dag_.edges) == 181


# Round trips

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
        with pytest.raises(ValueError, match="cannot be written"):
            scores.to_jkl(path)
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
    with pytest.raises(ValueError, match=r"'b.ud800' cannot be written"):
        LocalScoreTransformer().fit_transform(frame).to_jkl(path)
    long = ParentSetScores(["a", "b" * 2**20], [([[-1]], [0.0])] * 2)
    with pytest.raises(ValueError, match=r"Column 'bb.* a line has 1,048,576 characters or more"):
        long.to_jkl(path)


# 100 MB


@pytest.mark.slow
def test_a_hundred_megabytes_in_a_line(path):
    path.write_text("1\na 1\n-1 0" + " 0" * (50 << 20), encoding="utf-8")
    with pytest.raises(ValueError, match="line 3: a line has 1,048,576 characters or more"):
        ParentSetScores.from_jkl(path)


@pytest.mark.slow
def test_a_hundred_megabytes_of_families(path):
    m, n = 30, 20_000
    names = [f"{j:02}" + "n" * 38 for j in range(m)]
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{m}\n")
        for x in range(m):
            file.write(f"{names[x]} {n}\n")
            others = itertools.combinations([j for j in range(m) if j != x], 4)
            for four in itertools.islice(others, n):
                parents = " ".join(names[j] for j in four)
                file.write(f"-{rng.random()!r} 4 {parents}\n")
    assert path.stat().st_size > 100e6
    scores = ParentSetScores.from_jkl(path)
    assert scores.n_families == m * n
    rng = random.Random(0)
    first = [-rng.random() for _ in range(m * n)][::n]
    assert [scores.local_score(x, [j for j in range(5) if j != x][:4]) for x in range(m)] == first
