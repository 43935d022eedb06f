"""ParentSetScores: scores without rows, and the best network of listed families."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises

from skbn import GaussianBNLearner, LocalScoreTransformer, ParentSetScores
from skbn.datasets import make_gaussian_network

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


def written(tmp_path, text):
    path = tmp_path / "scores.jkl"
    path.write_text(text, encoding="utf-8")
    return path


def test_published_example(tmp_path):
    scores = ParentSetScores.from_jkl(written(tmp_path, BBMARKOV))
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
    scores = ParentSetScores.from_jkl(written(tmp_path, "2\na 1\n-1 0\nb 1\n-1 0\n"))
    assert not GaussianBNLearner().fit(scores).dag_.edges
    with pytest.raises(
        ValueError, match=r"Column 'b' has no listed family that has the required parents \['a'\]"
    ):
        GaussianBNLearner(required_edges=[("a", "b")]).fit(scores)
    only_cycles = written(tmp_path, "2\na 1\n-1 1 b\nb 1\n-1 1 a\n")
    with pytest.raises(
        ValueError, match=r"No acyclic network of the columns \['a', 'b'\] has a finite"
    ):
        GaussianBNLearner().fit(ParentSetScores.from_jkl(only_cycles))


def test_settings_that_listed_families_do_not_have(tmp_path):
    scores = ParentSetScores.from_jkl(written(tmp_path, BBMARKOV))
    with pytest.raises(ValueError, match="criterion='bic' was asked for, but the ParentSetScores"):
        GaussianBNLearner("bic").fit(scores)
    raises("X is already ParentSetScores", LocalScoreTransformer().fit, scores, kind=TypeError)
    assert not GaussianBNLearner(max_parents=0).fit(scores).dag_.edges


def test_a_huge_score_hides_no_difference(tmp_path):
    for bad, better in (("-1e11", "-9.9991"), ("-1e300", "-5.0")):
        text = f"3\na 3\n-10 0\n{better} 1 b\n{bad} 1 c\nb 2\n-10 0\n-10 1 a\nc 1\n-5 0\n"
        learner = GaussianBNLearner().fit(ParentSetScores.from_jkl(written(tmp_path, text)))
        assert list(learner.dag_.edges) == [("b", "a")]
        assert learner.network_score_ == pytest.approx(float(better) - 15)


def test_what_all_scores_of_a_child_share_does_not_matter():
    rng = np.random.default_rng(0)
    parents = [
        [[-1, -1], *([a, -1] for a in others), others] for others in ([1, 2], [0, 2], [0, 1])
    ]
    for _ in range(20):
        # Multiples of 2**-10, which are exact beside any of these constants.
        local = rng.integers(-4096, 4096, size=(3, 4)) / 1024
        plain = ParentSetScores(list("abc"), list(zip(parents, local, strict=True)))
        shifts = np.array([[2.0**42], [-(2.0**42)], [3e9]])
        shifted = ParentSetScores(list("abc"), list(zip(parents, local + shifts, strict=True)))
        expected, learner = GaussianBNLearner().fit(plain), GaussianBNLearner().fit(shifted)
        assert set(learner.dag_.edges) == set(expected.dag_.edges)
        assert learner.network_score_ == expected.network_score_ + 3e9


def test_a_child_without_families(tmp_path):
    scores = ParentSetScores.from_jkl(written(tmp_path, "2\na 0\nb 1\n-1 0\n"))
    raises("Column 'a' has no listed family that satisfies", GaussianBNLearner().fit, scores)
    raises("Column 'a' has no family with a finite score", scores.best_parents, "a")
    assert scores.top_parents("a") == []


@pytest.mark.parametrize(
    "listed",
    [
        ([[0]], [1.0]),
        ([[2, 1]], [1.0]),
        ([[-1, 1]], [1.0]),
        ([[3]], [1.0]),
        ([[1], [1]], [1.0, 2.0]),
        ([[1]], [np.nan]),
        ([[1]], [1.0, 2.0]),
        ([[1]], [1.1e300]),
        ([[1]], ["1.0"]),
        ([["1"]], [1.0]),
        ([[True]], [1.0]),
        ([[1.0]], [1.0]),
        ([[1], [1, 2]], [1.0, 2.0]),
        (np.array([[65537]]), [1.0]),
        ([[-65535]], [1.0]),
    ],
)
def test_families_that_are_no_families(listed):
    alone = [[-1]], [0.0]
    with pytest.raises(ValueError, match="families of column 'a' must be rows of other columns'"):
        ParentSetScores(["a", "b", "c"], [listed, alone, alone])


def test_labelled_scores_belong_to_the_rows_of_their_labels():
    parents = pd.DataFrame([[-1], [1]], index=["none", "b"])
    values = pd.Series({"b": 2.0, "none": 1.0})
    alone = [[-1]], [0.0]
    scores = ParentSetScores(["a", "b"], [(parents, values), alone])
    assert scores.local_score("a", ["b"]) == 2.0
    with pytest.raises(ValueError, match=r"scores of column 'a'.*another order"):
        ParentSetScores(["a", "b"], [([[-1], [1]], pd.Series([2.0, 1.0], [1, 0])), alone])
    with pytest.raises(
        TypeError, match=r"families must be a list .* order of the columns; got dict"
    ):
        ParentSetScores(["a", "b"], {"b": alone, "a": alone})


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
    with pytest.raises(ValueError, match=message):
        ParentSetScores(columns, [([[-1]], [0.0])] * (len(columns) + (columns == ["a"])))


def test_a_learner_of_scores_without_rows(tmp_path):
    scores = ParentSetScores.from_jkl(written(tmp_path, BBMARKOV))
    learner = GaussianBNLearner().fit(scores)
    assert set(learner.predict(scores)) == {"0", "1", "2"}
    raises("ParentSetScores have no rows", learner.score, scores, kind=TypeError)
