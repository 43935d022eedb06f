import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from sklearn.model_selection import train_test_split

from skbn import BIC, GaussianBNLearner, LocalScores, LocalScoreTransformer, NearOptimalNetworks
from skbn.datasets import make_gaussian_network


@pytest.fixture(scope="module")
def rows():
    return make_gaussian_network(6, n_samples=40, random_state=5)[0] * 3 + 7


@pytest.fixture(scope="module")
def scores(rows):
    return LocalScoreTransformer().fit_transform(pd.DataFrame(rows, columns=list("abcdef")))


@pytest.mark.parametrize("m", range(2, 10))
def test_every_family_equals_least_squares(m):
    rows = make_gaussian_network(m, n_samples=3 * m + 20, random_state=m)[0]
    scores = LocalScoreTransformer().fit_transform(rows)
    array = scores.to_array()
    assert array.shape == (m, 2 ** (m - 1))
    n = len(rows)
    families = reference.families(m)
    expected = [reference.regression(rows, x, parents)[2] for x, parents in families]
    single = [scores.residual_sum_of_squares(x, parents) for x, parents in families]
    np.testing.assert_allclose(single, expected, rtol=1e-9)
    indices = [scores.family_index(x, parents) for x, parents in families]
    assert len(set(indices)) == array.size  # all of the array is reached
    n_parameters = np.array([len(parents) + 2 for _, parents in families])
    log_likelihood = array[tuple(np.transpose(indices))] + n_parameters * np.log(n) / 2
    rss = n / (2 * np.pi) * np.exp(-2 / n * log_likelihood - 1)
    np.testing.assert_allclose(rss, expected, rtol=1e-9)


def test_coef_equals_least_squares_in_the_given_order(rows, scores):
    for parents in [[], [0], [3, 1], [5, 0, 2, 4]]:
        child = 1 if 1 not in parents else 2
        intercept, coefficients = scores.coef(child, parents)
        expected = reference.regression(rows, child, parents)
        assert intercept == pytest.approx(expected[0])
        np.testing.assert_allclose(coefficients, expected[1])


def test_columns_by_name_or_number(scores):
    assert scores.local_score("c", ["a", "f"]) == scores.local_score(2, [0, 5])
    assert scores.local_score(np.int64(2), ("a", 5)) == scores.local_score(2, [0, 5])
    assert scores.n_families == 6 * 2**5
    assert len(scores.top_parents("a", np.int64(2))) == 2


@pytest.mark.parametrize(
    ("child", "parents", "error", "message"),
    [
        ("z", [], ValueError, "no column 'z'; the columns are"),
        (6, [], ValueError, "no column 6; the columns' numbers are 0 to 5"),
        (-1, [], ValueError, "no column -1"),
        (True, [], ValueError, "no column True"),
        (1.0, [], TypeError, r"by its name or its number; got 1\.0"),
        ("a", ["a"], ValueError, "'a' cannot be a parent of itself"),
        ("a", ["b", 1], ValueError, r"given once; got the columns \['b', 'b'\]"),
        ("a", None, TypeError, "must be a list of columns; got None"),
        ("a", "bc", TypeError, "must be a list of columns; got 'bc'"),
    ],
)
def test_bad_families_are_named(scores, child, parents, error, message):
    for method in (scores.local_score, scores.residual_sum_of_squares, scores.coef):
        raises(message, method, child, parents, kind=error)


def test_network_score_is_the_sum_of_its_families(scores):
    dag = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    dag.add_nodes_from("fed")
    expected = scores.local_score("b", ["a"]) + scores.local_score("c", ["a", "b"])
    expected += sum(scores.local_score(x) for x in "adef")
    assert scores.network_score(dag) == pytest.approx(expected)
    numbered = nx.relabel_nodes(dag, {name: i for i, name in enumerate("abcdef")})
    assert scores.network_score(numbered) == scores.network_score(dag)


def test_bad_networks_are_named(scores):
    for nodes, cycle, message in [
        ("abcdef", "ace", r"it has the cycle \['a', 'c', 'e'\]"),
        ("abcef", "", r"no node for the columns \['d'\]"),
        ("abcdefg", "", "no column 'g'"),
        ([*"abcdef", 0], "", "twice"),
    ]:
        dag = nx.empty_graph(nodes, nx.DiGraph)
        nx.add_cycle(dag, cycle)
        raises(message, scores.network_score, dag)
    undirected = nx.empty_graph("abcdef")
    message = r"networkx\.DiGraph or a Gauss.*; got Graph"
    raises(message, scores.network_score, undirected, kind=TypeError)


def test_nothing_is_computed_before_it_is_asked_for(rows, monkeypatch):
    def refuse(*_):
        raise AssertionError("computed too early")

    monkeypatch.setattr("skbn._scores.scorer.sample_statistics", refuse)
    monkeypatch.setattr("skbn._scores.families.log_determinants", refuse)
    monkeypatch.setattr("skbn._scores.scorer.set_functions", refuse)
    scores = LocalScoreTransformer().fit_transform(rows)
    np.testing.assert_array_equal(np.asarray(scores), rows)
    assert len(scores) == 40
    assert "192 families, 40 rows x 6 columns" in repr(scores)


def test_single_families_need_no_table(rows, monkeypatch):
    monkeypatch.setattr("skbn._scores.families.log_determinants", None)
    monkeypatch.setattr("skbn._scores.scorer.set_functions", None)
    scores = LocalScoreTransformer().fit_transform(rows)
    assert np.isfinite(scores.local_score(0, [1, 2]))


def test_2_to_the_m_numbers_are_stored(scores):
    scores.to_array()
    assert scores.log_determinants.shape == (2**6,)
    assert np.shares_memory(scores.log_determinants, scores.log_determinants)
    holders = (scores.scorer, scores.scorer._shared, scores.sample)
    kept = [v for holder in holders for v in vars(holder).values() if isinstance(v, np.ndarray)]
    small = 2 * 3 * 6 + 6  # the tables, given and shifted, and the offsets
    assert sum(v.size for v in kept) == 40 * 6 + 2**6 + small


def test_what_scores_hand_out_cannot_be_written(rows):
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    scores = LocalScoreTransformer().fit(frame).transform(frame, np.ones(len(rows)))
    dag = nx.DiGraph([("a", "b"), *(("c", x) for x in "def")])
    before = scores.network_score(dag)
    for each in (scores, pickle.loads(pickle.dumps(scores))):
        statistics = each.statistics
        for array in (
            *(each.log_determinants, each.sample.rows, each.sample.weight),
            *(statistics.mean, statistics.scale, statistics.factor, scores.feature_names_in_),
        ):
            raises("read-only", array.sort)
        each.to_array().sort()
        each.coef("a", ["b", "c"])[1].sort()
        each.criterion.set_params(unbiased_variance=True)
        assert each.network_score(dag) == before


def test_settings_that_scores_depend_on_cannot_be_set(scores):
    for name in ("criterion", "penalty", "max_parents", "n_jobs"):
        raises("no setter", setattr, scores, name, None, kind=AttributeError)


def test_rows_stay_what_they_were(rows):
    table = rows.copy()
    scores = LocalScoreTransformer().fit_transform(table)
    table[:] = 0
    np.testing.assert_array_equal(np.asarray(scores), rows)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(scores)[0, 0] = 1


def test_rows_can_be_taken(rows, scores):
    np.testing.assert_array_equal(scores[3], rows[3])
    np.testing.assert_array_equal(scores[:, [2, 0]], rows[:, [2, 0]])
    for some in (scores[5:], scores[[0, 1, 2]], scores[np.arange(40) < 9]):
        assert isinstance(some, LocalScores)
        assert not np.asarray(some).flags.writeable
    half = scores[20:]
    assert isinstance(half, LocalScores)
    assert half.shape == (20, 6)
    expected = reference.local_score(rows[20:], 0, [1])
    assert half.local_score("a", ["b"]) == pytest.approx(expected, abs=1e-9)


def test_memory_is_asked_for_before_it_is_taken(scores, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.available_memory", lambda: 100)
    monkeypatch.setattr("skbn._core.resources._TRIFLE", 0)
    few = scores[:30]
    raises(r"table of all log-determinants needs 512 B.*100 B", lambda: few.log_determinants)
    raises(r"all local scores needs 4\.1 kB.*100 B", few.to_array)


@pytest.mark.parametrize("what", ["log_determinants", "to_array"])
def test_what_is_refused_for_lack_of_memory_fits_with_fewer_parents(what, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.available_memory", lambda: 4000)
    monkeypatch.setattr("skbn._core.resources._TRIFLE", 0)
    rows = np.random.default_rng(0).normal(size=(30, 10))

    def take(m, most):
        scores = LocalScoreTransformer(max_parents=most).fit_transform(rows[:, :m])
        return scores.to_array() if what == "to_array" else scores.log_determinants

    message = r"needs .* and 4\.0 kB are available; .* with a smaller max_parents, or leave out col"
    raises(message, take, 10, 5)
    assert take(10, 1).size > 10
    assert take(5, 5).size > 10


# Parent sets, best first


def test_top_parents_are_the_best_of_all(rows, scores):
    local = reference.all_local_scores(rows)
    for child in range(6):
        ranked = sorted(
            (p for x, p in reference.families(6) if x == child), key=lambda p: -local[child, p]
        )
        top = scores.top_parents(child, 5)
        assert [tuple("abcdef".index(name) for name in t.parents) for t in top] == ranked[:5]
        for each in top:
            parents = tuple("abcdef".index(name) for name in each.parents)
            assert each.score == pytest.approx(local[child, parents], abs=1e-9)
            assert each.difference == pytest.approx(each.score - top[0].score, abs=1e-9)
        assert scores.best_parents(child) == top[0].parents
        assert len(scores.top_parents(child, 100)) == 32


@pytest.mark.parametrize("piece_bits", [2, 20])
@pytest.mark.parametrize("max_parents", [None, 2])
def test_best_parents_among_candidates(rows, max_parents, piece_bits, monkeypatch):
    monkeypatch.setattr("skbn._scores.families._PIECE_BITS", piece_bits)
    scores = LocalScoreTransformer(max_parents=max_parents).fit_transform(rows)
    local = reference.all_local_scores(rows)
    for child, candidates in reference.families(6):
        allowed = [p for p in reference.subsets(candidates) if len(p) <= (max_parents or 6)]
        expected = max(allowed, key=lambda p: local[child, p])
        assert scores.best_parents(child, reversed(candidates)) == list(expected)
        top = [tuple(t.parents) for t in scores.top_parents(child, 4, candidates)]
        assert top == sorted(allowed, key=lambda p: -local[child, p])[:4]


def test_ties_of_parent_sets_go_to_the_fewest_columns():
    class Even(BIC):
        def tables(self, n_samples, m, penalty=1.0):
            return np.zeros((3, m))

    rows = np.random.default_rng(0).normal(size=(9, 4))
    scores = LocalScoreTransformer(Even()).fit_transform(rows)
    assert scores.best_parents(2) == []
    assert [t.parents for t in scores.top_parents(2, 5)] == [[], [0], [1], [3], [0, 1]]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda s: s.top_parents("a", 0), ValueError, "k must be at least 1; got 0"),
        (lambda s: s.top_parents("a", 2.5), TypeError, r"k must be an integer; got 2\.5"),
        (lambda s: s.top_parents("a", 3, "bc"), TypeError, "candidates .* columns; got 'bc'"),
        (lambda s: s.best_parents("a", 5), TypeError, "candidates .* list of columns; got 5"),
        (lambda s: s.best_parents("a", ["z"]), ValueError, "There is no column 'z'"),
        (lambda s: s.best_parents("a", ["a", "b"]), ValueError, "'a' cannot be a candidate"),
    ],
)
def test_bad_questions_about_parents(scores, ask, error, message):
    raises(message, ask, scores, kind=error)


def test_scikit_learn_takes_rows_with_all_their_settings(rows):
    """Folds of LocalScores are LocalScores: neither criterion nor weights get lost."""
    weight = np.random.default_rng(0).integers(0, 4, len(rows))
    transformer = LocalScoreTransformer("ebic", penalty=2.0, max_parents=2, n_jobs=2)
    scores = transformer.fit_transform(rows, sample_weight=weight)
    by_sklearn, _, part, _ = train_test_split(scores, np.arange(len(rows)), random_state=0)
    for taken in (by_sklearn, scores[part, :]):
        assert isinstance(taken, LocalScores)
        assert (taken.penalty, taken.max_parents, taken.n_jobs) == (2.0, 2, 2)
        assert type(taken.criterion).__name__ == "EBIC"
        np.testing.assert_array_equal(taken, rows[part])
        np.testing.assert_array_equal(taken.sample.weight, weight[part])
    for choice in (np.ix_(part, [0, 1]), (part, 1), (3, ...), 3):
        np.testing.assert_array_equal(scores[choice], rows[choice])
        assert isinstance(scores[choice], np.ndarray)


@pytest.mark.parametrize("penalty", [-1, np.nan, True, 1e200, "2", None])
def test_penalties_that_are_refused(rows, penalty):
    raises("be a number from 0", LocalScoreTransformer().fit_transform(rows).with_penalty, penalty)
    of_bge = LocalScoreTransformer("bge").fit_transform(rows)
    raises("no complexity term that penalty=2", of_bge.with_penalty, 2)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_scores_of_several_penalties_share_what_they_compute(rows, first):
    scores = LocalScoreTransformer().fit_transform(rows)
    twice = scores.with_penalty(2)
    path = [scores, twice, twice.with_penalty(3)]  # before anything is computed
    log_det = path[first].log_determinants
    for each, penalty in zip(path, (1, 2, 3), strict=True):
        assert np.shares_memory(each.log_determinants, log_det)
        assert each.statistics is scores.statistics
        alone = LocalScoreTransformer(penalty=penalty).fit_transform(rows)
        np.testing.assert_array_equal(each.to_array(), alone.to_array())
    again = [each.log_determinants for each in pickle.loads(pickle.dumps(path))]
    assert np.shares_memory(again[0], again[2])
    np.testing.assert_array_equal(again[1], log_det)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
def test_what_a_pickle_has(rows):
    """Rows that were not kept, and log-determinants that are soon computed, take no room."""
    scores = LocalScoreTransformer().fit_transform(np.tile(rows, 2) + np.eye(40, 12))
    size = len(pickle.dumps(scores))
    expected = scores.to_array()
    assert len(pickle.dumps(scores)) < size + scores.log_determinants.nbytes / 4
    again = pickle.loads(pickle.dumps(scores))
    np.testing.assert_array_equal(again.to_array(), expected)
    with pytest.raises(ValueError, match="read-only"):
        again.sample.rows[0] = 1
    for estimator in (GaussianBNLearner(), LocalScoreTransformer()):
        sizes = [len(pickle.dumps(estimator.fit(np.tile(rows, (k, 1))))) for k in (1, 100)]
        assert sizes[1] < sizes[0] + 1000


def test_rows_in_a_frame(rows):
    scores = LocalScoreTransformer().fit_transform(rows)
    np.testing.assert_array_equal(pd.DataFrame(scores), rows)


def test_there_is_no_constructor():
    raises(r"call LocalScoreTransformer\(\)\.fit_transform\(X\)", LocalScores, kind=TypeError)
    raises(r"by near_optimal\(\) of a fitted learner", NearOptimalNetworks, kind=TypeError)
