"""All networks one edge away from another, against a slow score of each of their families."""

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
import reference
from agreement import raises
from hard_tables import nearly_collinear

from skbn import BGe, LocalScoreTransformer
from skbn._core.graphs import dag_of
from skbn._core.subsets import mask_of, members_of
from skbn._networks.equivalence import canonical_member
from skbn._networks.gaussian import estimate_model
from skbn._scores.criteria import is_score_equivalent
from skbn._solver.certificate import EdgeChanges, certify_network, polished
from skbn._solver.constraints import read_constraints
from skbn.datasets import make_gaussian_network


def polish(scorer, constraints, parents):
    """Polish a network with any member of its class in its place where that may be."""
    any_member = constraints.is_free and is_score_equivalent(scorer.tables)
    return polished(scorer, constraints, parents, any_member).parents


def constrained(seed, m):
    """Return constraints, at random, in which the order of the columns may be the network's."""
    rng = np.random.default_rng(seed)
    edges = [(a, b) for a in range(m) for b in range(m) if a != b]
    required = [edge for edge in edges if edge[0] < edge[1] and rng.random() < 0.1]
    forbidden = [edge for edge in edges if edge not in required and rng.random() < 0.2]
    constraints = read_constraints(
        list(range(m)), max_parents=3, required_edges=required, forbidden_edges=forbidden
    )
    pairs = {(a, b) for b in range(m) for a in members_of(constraints.allowed[b]) if a < b}
    drawn = [pair for pair in sorted(pairs) if rng.random() < 0.5]
    parents = [mask_of(a for a, c in {*drawn, *required} if c == b) for b in range(m)]
    return constraints, parents


def is_acyclic(parents):
    return nx.is_directed_acyclic_graph(dag_of(range(len(parents)), parents))


def neighbouring_networks(parents):
    """Yield all acyclic networks with an edge added, deleted or reversed."""
    m = len(parents)
    for a, b in permutations(range(m), 2):
        other = list(parents)
        other[b] ^= 1 << a
        if not parents[a] >> b & 1 and is_acyclic(other):
            yield other
        if parents[b] >> a & 1:
            turned = [mask | (x == a) << b for x, mask in enumerate(other)]
            if is_acyclic(turned):
                yield turned


def satisfies(constraints, parents):
    return all(
        mask & ~may == 0 and must & ~mask == 0 and mask.bit_count() <= constraints.max_parents
        for mask, may, must in zip(parents, constraints.allowed, constraints.required, strict=True)
    )


class Table:
    """Rows with whole weights, their scores, and those of the reference, each computed once."""

    def __init__(self, rows, criterion="bic", weight=None, **settings):
        self.m = rows.shape[1]
        transformer = LocalScoreTransformer(criterion, **settings)
        self.scores = transformer.fit_transform(rows, sample_weight=weight)
        self.scorer = self.scores.scorer
        self.rows = rows if weight is None else np.repeat(rows, weight, axis=0)
        self.criterion = criterion
        self.known = {}

    def local_score(self, child, mask):
        if (child, mask) not in self.known:
            score, own = reference.local_score, [self.criterion]
            if isinstance(self.criterion, BGe):
                score, own = reference.bge_local_score, []
            self.known[child, mask] = score(self.rows, child, members_of(mask), *own)
        return self.known[child, mask]

    def network_score(self, parents):
        return sum(self.local_score(x, mask) for x, mask in enumerate(parents))

    def best_gain(self, constraints, parents):
        """Return the gain of the best network within constraints that differs in one edge."""
        others = neighbouring_networks(parents)
        best = max(self.network_score(other) for other in others if satisfies(constraints, other))
        return best - self.network_score(parents)

    def coef(self, parents):
        return estimate_model(self.scorer.group_statistics, parents, self.scores.columns).coef


def drawn_rows(m=5, n=60, seed=1):
    return make_gaussian_network(m, n_samples=n, random_state=seed)[0]


TABLES = {
    "bic": lambda: Table(drawn_rows()),
    "aic": lambda: Table(drawn_rows(), "aic"),
    "bge": lambda: Table(drawn_rows(), BGe()),
    "bge, few rows": lambda: Table(drawn_rows(n=4), BGe()),
    "weights": lambda: Table(drawn_rows(), weight=np.arange(60) % 4),
    "nearly collinear": lambda: Table(nearly_collinear(5, m=5)),
    "a sum, nearly": lambda: Table(nearly_collinear(4, others=(1, 2), m=5)),
    "units": lambda: Table(drawn_rows() * 10.0 ** np.array([-9, 3, 0, 7, -4]) + 3, BGe()),
}


@pytest.mark.parametrize("name", TABLES)
def test_gains_are_differences_of_local_scores(name):
    """Of all edges, those that would make a cycle included."""
    table = TABLES[name]()
    for seed in range(3):
        constraints, parents = constrained(seed, table.m)
        changes = EdgeChanges(table.scorer, constraints, parents)
        for x, z in permutations(range(table.m), 2):
            changed = parents[x] ^ 1 << z
            expected = table.local_score(x, changed) - table.local_score(x, parents[x])
            assert changes.gains[x, z] == pytest.approx(expected, abs=1e-5)
        assert not changes.gains.diagonal().any()


@pytest.mark.parametrize("name", TABLES)
def test_the_best_change_leads_to_the_best_neighbour_until_none_is_better(name):
    """And a network is certified if and only if it has no better one."""
    table = TABLES[name]()
    n_changes, kinds = 0, set()
    for seed in range(5):
        constraints, parents = constrained(seed, table.m)
        if not satisfies(constraints, parents):
            continue
        changes = EdgeChanges(table.scorer, constraints, parents)
        while True:
            coef = table.coef(parents)
            gain = table.best_gain(constraints, parents)
            change = changes.best()
            if change is None:
                assert gain < 0.0021
                certify_network(table.scores, constraints, parents, [coef])
                break
            edge = f"edge {change.parent} -> {change.child} {change.what}"
            with pytest.raises(RuntimeError, match=edge):
                certify_network(table.scores, constraints, parents, [coef])
            changes.make(change)
            before, parents = table.network_score(parents), list(changes.parents)
            assert satisfies(constraints, parents)
            assert is_acyclic(parents)
            # A reversed edge counts as two changes, each of which rounding may have improved.
            assert change.gain == pytest.approx(table.network_score(parents) - before, abs=0.0021)
            assert change.gain == pytest.approx(gain, abs=0.0021)
            n_changes += 1
            kinds.add(change.what)
        assert polish(table.scorer, constraints, constrained(seed, table.m)[1]) == parents
        again = EdgeChanges(table.scorer, constraints, parents)
        np.testing.assert_allclose(again.gains, changes.gains, atol=1e-9)
    assert n_changes >= 10
    assert kinds >= {"added", "deleted"}


def test_equivalent_networks_are_no_improvement():
    rows = np.random.default_rng(0).normal(size=(1000, 2)) @ [[1, 1], [0, 1]]
    scorer = LocalScoreTransformer().fit_transform(rows).scorer
    constraints = read_constraints([0, 1], max_parents=1)
    for parents in [[0b10, 0], [0, 0b1]]:
        assert EdgeChanges(scorer, constraints, parents).best() is None


@pytest.mark.parametrize("gap", [0.0, 1e-13])
def test_dependent_columns_that_a_better_family_would_have_are_named(gap):
    """With few parents, other columns may be dependent."""
    rows = np.random.default_rng(0).normal(size=(50, 4))
    rows[:, 3] = rows[:, 0] - rows[:, 1] + gap * rows[:, 2]
    scorer = LocalScoreTransformer(max_parents=2).fit_transform(rows).scorer
    for forbidden, parents in [
        ([], [0, 0, 0, 0]),
        ([(1, 0)], [0b1000, 0, 0, 0b10]),  # 3 -> 0 reversed gives 3 the parents 0 and 1
    ]:
        constraints = read_constraints([0, 1, 2, 3], max_parents=2, forbidden_edges=forbidden)
        raises(r"Column \d is collinear with others", polish, scorer, constraints, parents)


def test_a_polished_network_is_canonical_and_no_change_betters_it():
    """Also where one climb is not enough, because other members of the class get other edges.

    Of changes that tie, rounding decides which is made, and so for which tables it is not.
    """
    n_further = 0
    for seed in range(20):
        rows = make_gaussian_network(5, n_samples=200, mean_degree=3, random_state=seed)[0]
        scorer = LocalScoreTransformer().fit_transform(rows).scorer
        constraints = read_constraints(list(range(5)), max_parents=4)
        changes = EdgeChanges(scorer, constraints, [0] * 5)
        while (change := changes.best()) is not None:
            changes.make(change)
        canonical = canonical_member(changes.parents)
        n_further += EdgeChanges(scorer, constraints, canonical).best() is not None
        parents = polish(scorer, constraints, [0] * 5)
        assert parents == canonical_member(parents)
        assert EdgeChanges(scorer, constraints, parents).best() is None
    assert n_further >= 3


def test_scores_that_are_not_numbers_are_noticed():
    scores = LocalScoreTransformer().fit_transform(drawn_rows())
    scores.statistics.factor.setflags(write=True)
    scores.statistics.factor[0, 4] = np.nan
    free = read_constraints(list(range(5)), max_parents=4)
    with pytest.raises(RuntimeError, match=r"edge of columns \d and \d added is NaN"):
        polish(scores.scorer, free, [0] * 5)


class Counted:
    """A scorer that counts the children whose neighbours are scored."""

    def __init__(self, scorer):
        self._scorer, self.n_children = scorer, 0

    def neighbours(self, is_parent, children):
        self.n_children += len(children)
        return self._scorer.neighbours(is_parent, children)


@pytest.mark.parametrize(("n_looks", "n_children"), [(0, 0), (1, 64), (2, 128), (3, 150)])
def test_a_climb_that_is_over_scores_no_further_children(n_looks, n_children):
    rows = make_gaussian_network(150, n_samples=300, random_state=0)[0]
    scorer = Counted(LocalScoreTransformer(max_parents=2).fit_transform(rows).scorer)
    constraints = read_constraints([*range(150)], max_parents=2)
    looks = iter([False] * n_looks)
    changes = polished(scorer, constraints, [0] * 150, True, lambda: next(looks, True))
    assert scorer.n_children == n_children
    assert changes.parents == [0] * 150
    assert changes.is_of([0] * 150, constraints) == (n_children == 150)


@pytest.mark.parametrize("name", TABLES)
def test_a_network_that_is_not_settled_is_certified_by_its_own_edges(name, monkeypatch):
    table = TABLES[name]()
    constraints, parents = constrained(1, table.m)
    expected = EdgeChanges(table.scorer, constraints, parents).losses
    monkeypatch.delattr(type(table.scorer), "neighbours")
    losses = certify_network(
        table.scores, constraints, parents, [table.coef(parents)], is_settled=False
    )
    np.testing.assert_allclose(losses, expected, atol=1e-5)
    assert np.isfinite(losses).any()
