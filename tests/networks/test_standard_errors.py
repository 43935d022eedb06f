"""Standard errors, p-values and intervals of coefficients, given the structure."""

import pickle

import networkx as nx
import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose
from scipy.stats import t

from skbn import BGe, GaussianBayesianNetwork, GaussianBNLearner

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")

COLUMNS = ["std_err", "t", "p_value", "ci_low", "ci_high"]
DAG = nx.DiGraph()
DAG.add_nodes_from(range(5))
DAG.add_edges_from([(0, 3), (1, 3), (2, 3), (3, 4), (0, 4)])


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5)) * [1, 1e3, 1e-3, 1, 1] + [0, 1e4, 5, 0, 0]
    rows[:, 3] += rows[:, 0] + 2e-3 * rows[:, 1]
    rows[:, 4] += rows[:, 3] / 2
    return rows


@pytest.mark.parametrize("weight", [None, np.arange(40) % 4])
def test_errors_of_statsmodels(weight):
    sm = pytest.importorskip("statsmodels.api")
    rows = table()
    frame = GaussianBayesianNetwork(DAG).fit(rows, sample_weight=weight).to_frame(confidence=0.9)
    repeated = rows if weight is None else np.repeat(rows, weight, axis=0)
    for child, of_child in frame.groupby("child"):
        design = sm.add_constant(repeated[:, of_child["parent"]])
        fitted = sm.OLS(repeated[:, child], design).fit()
        expected = np.column_stack(
            [fitted.bse, fitted.tvalues, fitted.pvalues, fitted.conf_int(alpha=0.1)]
        )
        assert_allclose(of_child[COLUMNS], expected[1:], rtol=1e-8)


def test_a_learner_knows_the_errors_until_its_graph_changes():
    frame = pd.DataFrame(table(), columns=list("abcde"))
    network = GaussianBNLearner().fit(frame).network_
    expected = GaussianBayesianNetwork(network.dag).fit(frame).to_frame()
    pd.testing.assert_frame_equal(network.to_frame()[COLUMNS], expected[COLUMNS])
    stored = pickle.loads(pickle.dumps(network)).to_frame()
    pd.testing.assert_frame_equal(stored, network.to_frame())
    assert "std_err" not in network.to_frame(confidence=None)
    near = GaussianBNLearner().fit(frame).near_optimal(2)[1].to_frame()
    assert np.isfinite(near["std_err"]).all()
    network.dag.remove_edge(*next(iter(network.dag.edges)))
    assert "std_err" not in network.to_frame()


def test_with_interventions_each_child_has_the_errors_of_its_own_rows():
    rows, is_set = table(60), np.zeros((60, 5), dtype=bool)
    is_set[:20, 3] = is_set[20:30, 4] = is_set[25:40, 0] = True
    learner = GaussianBNLearner(required_edges=list(DAG.edges)).fit(rows, interventions=is_set)
    for row in learner.network_.to_frame().to_dict("records"):
        parents, counts = sorted(learner.dag_.predecessors(row["child"])), ~is_set[:, row["child"]]
        errors = reference.standard_errors(rows[counts], row["child"], parents)
        assert row["std_err"] == pytest.approx(errors[parents.index(row["parent"])], rel=1e-9)
        quantile = t.ppf(0.975, counts.sum() - len(parents) - 1)
        assert row["ci_high"] - row["weight"] == pytest.approx(quantile * row["std_err"])


def test_no_errors_with_a_prior_or_holes_or_parameters_of_a_graph():
    rows = table(60)
    learned = GaussianBNLearner(BGe(), max_parents=2).fit(rows).network_
    assert "std_err" not in learned.to_frame()
    assert "std_err" in learned.fit(rows).to_frame()
    assert "std_err" not in GaussianBayesianNetwork(learned.dag_).to_frame()
    assert "std_err" not in learned.do({0: 1.0}).to_frame()
    rows[0, 0] = np.nan
    missing = GaussianBNLearner(missing="em", n_candidates=2, max_parents=1).fit(rows)
    assert "std_err" not in missing.network_.to_frame()


def test_blocks_have_errors_where_they_have_weights():
    X = pd.DataFrame(table(60), columns=list("abcde"))
    X["site"] = np.resize(["north", "south", "west"], 60)
    X["e"] += X["site"] == "west"
    edges = [("site", "e"), ("d", "e"), ("a", "d"), ("site", "a")]
    network = GaussianBNLearner(nodes="auto", required_edges=edges).fit(X).network_
    frame = network.to_frame()
    of_columns = network.fit(X).columns_.dag
    plain = GaussianBayesianNetwork(of_columns)
    encoded = X.assign(**{f"site={s}": 1.0 * (X["site"] == s) for s in ("south", "west")})
    expected = plain.fit(encoded).to_frame().set_index(["parent", "child"])["std_err"]
    assert set(frame["parent"][frame["std_err"].isna()]) == {"site"}
    for row in frame[frame["parent"] != "site"].to_dict("records"):
        assert row["std_err"] == pytest.approx(expected[row["parent"], row["child"]])


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, np.nan])
def test_a_level_outside_of_0_to_1_is_refused(level):
    with pytest.raises(ValueError, match="confidence"):
        GaussianBayesianNetwork(nx.DiGraph([(0, 1)])).to_frame(confidence=level)
