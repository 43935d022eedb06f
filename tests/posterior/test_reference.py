"""The slow references for posteriors agree with each other, and with closed forms."""

import math

import networkx as nx
import numpy as np
import pytest
import reference

RECURRENCES = {
    "uniform": reference.uniform_recurrence,
    "order": reference.order_recurrence,
}


def free(m):
    """Weight 1 for each family."""
    return reference.all_ones(reference.random_log_weights(np.random.default_rng(0), m))


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)


def assert_same_sets(actual, expected):
    for found, wanted in zip(actual, expected, strict=True):
        assert list(found) == list(wanted)
        assert_close(list(found.values()), list(wanted.values()))


@pytest.mark.parametrize("prior", RECURRENCES)
@pytest.mark.parametrize(
    ("m", "spread", "p_missing"),
    [(1, 5, 0), (2, 5, 0), (3, 300, 0.3), (4, 0.5, 0), (4, 1e5, 0), (5, 5, 0), (5, 3, 0.6)],
)
def test_recurrences_agree_with_enumeration(prior, m, spread, p_missing):
    rng = np.random.default_rng([m, int(spread)])
    log_weights = reference.random_log_weights(rng, m, spread, p_missing)
    expected = reference.posterior_by_enumeration(log_weights, prior)
    actual = RECURRENCES[prior](log_weights)
    assert_close(actual.log_evidence, expected.log_evidence)
    assert_close(actual.log_n, expected.log_n)
    assert_close(actual.edges, expected.edges)
    assert_same_sets(actual.parent_sets, expected.parent_sets)
    if prior == "uniform":
        assert_close(actual.paths, expected.paths)
        assert_same_sets(actual.non_descendants, expected.non_descendants)


@pytest.mark.parametrize("prior", RECURRENCES)
def test_recurrences_agree_with_enumeration_under_constraints(prior):
    log_weights = reference.random_log_weights(np.random.default_rng(1), 4)
    log_weights[3][0b0001] = -math.inf
    required, allowed = [0, 0b0001, 0, 0], [0b1100, 0b1101, 0b1011, 0b0011]
    expected = reference.posterior_by_enumeration(log_weights, prior, required, allowed)
    actual = RECURRENCES[prior](reference.restricted(log_weights, required, allowed))
    assert_close(actual.edges, expected.edges)
    assert_close(actual.log_evidence, expected.log_evidence)
    assert_close(actual.log_n, expected.log_n)
    assert_close([expected.edges[0, 1], expected.paths[0, 1]], 1.0)
    assert expected.edges[1, 0] == expected.edges[2, 3] == expected.parent_sets[3][0b0001] == 0.0


@pytest.mark.parametrize("prior", RECURRENCES)
def test_forward_and_backward_sums_agree_on_more_columns(prior):
    log_weights = reference.random_log_weights(np.random.default_rng(2), 8)
    sums = RECURRENCES[prior](log_weights)
    assert abs(sums.forward[-1] / sums.backward[0] - 1) < 1e-30
    for x, families in enumerate(sums.parent_sets):
        assert_close(sum(families.values()), 1.0)
        assert_close(sum(p for s, p in families.items() if s & 1), sums.edges[0, x])


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29281), (6, 3781503)])
def test_number_of_networks_and_of_their_orders(m, n):
    of_orders = reference.weight_of_ordered_dags(m)
    assert reference.weight_of_dags(m) == n
    assert_close(reference.uniform_recurrence(free(m)).log_evidence, math.log(n))
    assert_close(reference.order_recurrence(free(m)).log_evidence, math.log(of_orders))
    if m <= 5:
        assert len(reference.dag_table(m).parents) == n
        assert reference.dag_table(m).n_orders.sum() == of_orders


@pytest.mark.parametrize("odds", [0.2, 3])
def test_odds_of_edges(odds):
    log_weights = reference.with_edge_odds(free(5), odds)
    uniform = reference.uniform_recurrence(log_weights).log_evidence
    assert_close(uniform, math.log(reference.weight_of_dags(5, odds)))
    order = reference.order_recurrence(log_weights).log_evidence
    assert_close(order, math.log(reference.weight_of_ordered_dags(5, odds)))


def test_table_of_networks():
    dags = reference.dag_table(4)
    listed = [tuple(map(tuple, map(reference.members_of, row))) for row in dags.parents.tolist()]
    assert len(set(listed)) == len(listed)
    assert set(listed) == set(reference.all_dags(4))
    for k, parents in enumerate(listed):
        graph = nx.DiGraph((p, x) for x in range(4) for p in parents[x])
        graph.add_nodes_from(range(4))
        assert dags.n_orders[k] == len(list(nx.all_topological_sorts(graph)))
        for x in range(4):
            after = nx.descendants(graph, x)
            assert set(np.flatnonzero(dags.is_path[k, x])) == after
            others = set(range(4)) - after - {x}
            assert set(reference.members_of(int(dags.non_descendants[k, x]))) == others


def test_no_network_has_a_weight():
    log_weights = [{0b10: 0.0}, {0b01: 0.0}]
    with pytest.raises(ValueError, match="No network"):
        reference.posterior_by_enumeration(log_weights, "uniform")


def test_large_local_scores_cost_no_digits():
    log_weights = reference.random_log_weights(np.random.default_rng(4), 4, 8.0)
    rounded = [{P: round(w * 1024) / 1024 for P, w in each.items()} for each in log_weights]
    shifted = [{P: w - 2.0**24 for P, w in each.items()} for each in rounded]
    small, large = (
        reference.posterior_by_enumeration(each, "uniform").probabilities
        for each in (rounded, shifted)
    )
    np.testing.assert_allclose(large, small, rtol=1e-13)
