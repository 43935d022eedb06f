"""The warning that `max_parents` costs much of the score, against regressions one by one."""

import re
import warnings

import networkx as nx
import numpy as np
import pytest

from skbn import (
    BGe,
    BootstrapBNLearner,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    LocalScoreTransformer,
    ParentSetScores,
)
from skbn._core.graphs import parent_masks
from skbn._networks.diagnostics import gains_of_one_more_parent
from skbn.datasets import make_gaussian_network
from skbn.exceptions import MaxParentsWarning

MESSAGE = re.compile(
    r"(\d+) of the (\d+) columns have as many parents as max_parents=(\d+) allows\. With one more "
    r"parent for each, and no other change, the score would be up to (\S+) nats higher\."
)


@pytest.fixture(scope="module")
def rows():
    return make_gaussian_network(9, mean_degree=5, n_samples=300, random_state=2)[0]


def expected_gains(rows, criterion, dag, children, settings, weight=None):
    """The best gain of each child, from scores of families of any size, one after the other."""
    transformer = LocalScoreTransformer(criterion, **settings)
    scores = transformer.fit_transform(rows, sample_weight=weight)
    gains = []
    for x in children:
        parents = list(dag.predecessors(x))
        further = set(dag) - {x, *parents, *nx.descendants(dag, x)}
        own = scores.local_score(x, parents)
        gains.append(max((scores.local_score(x, [*parents, z]) - own for z in further), default=0))
    return gains


@pytest.mark.parametrize(
    ("criterion", "settings"),
    [("bic", {}), ("bic", {"penalty": 0.5}), ("ebic", {}), ("bge", {}), (BGe(alpha_mu=0.1), {})],
)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("max_parents", [1, 2])
def test_the_warning_has_the_gains_of_single_regressions(
    rows, criterion, settings, is_weighted, max_parents
):
    rows = rows * 2.0 ** np.arange(9)  # the units matter to BGe
    weight = np.linspace(0.4, 1.6, len(rows)) if is_weighted else None
    learner = GaussianBNLearner(criterion, max_parents=max_parents, **settings)
    with pytest.warns(MaxParentsWarning) as caught:
        learner.fit(rows, sample_weight=weight)
    assert [warning.filename for warning in caught] == [__file__]
    full = [x for x in range(9) if learner.dag_.in_degree(x) == max_parents]
    gains = expected_gains(rows, criterion, learner.dag_, full, settings, weight)
    *counts, gain = MESSAGE.match(str(caught[0].message)).groups()
    assert [*map(int, counts)] == [len(full), 9, max_parents]
    assert float(gain) == pytest.approx(sum(max(each, 0) for each in gains), rel=6e-3)


def test_each_gain_is_that_of_a_single_regression(rows):
    scores = LocalScoreTransformer().fit_transform(rows)
    learner = GaussianBNLearner(penalty=8).fit(rows)
    gains = gains_of_one_more_parent(
        scores.scorer, parent_masks(learner.dag_), [(1 << 9) - 1] * 9, list(range(9))
    )
    expected = expected_gains(rows, "bic", learner.dag_, range(9), {})
    has_further = gains > -np.inf
    assert has_further.sum() >= 6
    np.testing.assert_allclose(gains[has_further], np.array(expected)[has_further], atol=1e-9)


def test_only_parents_that_the_constraints_allow_count(rows):
    learner = GaussianBNLearner(max_parents=1)
    with pytest.warns(MaxParentsWarning):
        learner.fit(rows)
    kept = set(learner.dag_.edges)
    others = [(a, b) for a in range(9) for b in range(9) if a != b and (a, b) not in kept]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.set_params(forbidden_edges=others).fit(rows)
    assert set(learner.dag_.edges) == kept


@pytest.mark.parametrize("max_parents", [None, 0, 8])
def test_without_a_limit_there_is_no_warning(rows, max_parents):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianBNLearner("aic", max_parents=max_parents).fit(rows)


@pytest.mark.parametrize(("m", "fewest"), [(8, 3), (30, 3), (31, 4), (40, 4)])
def test_few_columns_at_the_limit_get_no_warning(m, fewest):
    rows = np.random.default_rng(0).normal(size=(300, m))
    for n_children in (fewest - 1, fewest):
        table = rows.copy()
        table[:, 2 : 2 + n_children] += table[:, :1] + table[:, 1:2]  # of which one is allowed
        learner = GaussianBNLearner(max_parents=1, tiers=[[x] for x in range(m)], penalty=4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.fit(table)
        assert sum(degree == 1 for _, degree in learner.dag_.in_degree) == n_children
        assert len(caught) == (n_children == fewest)


def test_small_gains_get_no_warning():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    rows[:, 1:] += rows[:, :1]  # all three have one parent, and no more
    learner = GaussianBNLearner(max_parents=1).fit(rows)
    assert sum(degree == 1 for _, degree in learner.dag_.in_degree) == 3


@pytest.mark.parametrize("search", ["exact", "order"])
def test_the_limit_of_local_scores_counts(rows, search):
    rows = rows[:, :5]
    scores = LocalScoreTransformer(max_parents=2).fit_transform(rows)
    learner = GaussianBNLearner(search=search, random_state=0)
    with pytest.warns(MaxParentsWarning, match=r"as many parents as max_parents=2 allows"):
        learner.fit(scores)
    cv = GaussianBNLearnerCV([1], cv=2, search=search, random_state=0)
    with pytest.warns(MaxParentsWarning) as caught:  # of all rows, not of the folds
        cv.fit(scores)
    of_limit = [each.filename for each in caught if each.category is MaxParentsWarning]
    assert of_limit == [__file__]


def test_resamples_do_not_warn(rows):
    learner = GaussianBNLearnerCV([1], cv=2, max_parents=1)
    with pytest.warns(MaxParentsWarning) as caught:
        BootstrapBNLearner(learner, n_resamples=3, random_state=0).fit(rows)
    assert len(caught) == 1


def test_listed_families_do_not_warn():
    families = [([[-1], [1]], [0.0, 9.0]), ([[-1], [2]], [0.0, 9.0]), ([[-1], [3]], [0.0, 9.0])]
    scores = ParentSetScores([*"abcd"], [*families, ([[-1]], [0.0])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = GaussianBNLearner(max_parents=1).fit(scores)
    assert learner.dag_.number_of_edges() == 3


def test_columns_that_depend_on_the_family_promise_nothing():
    """With one parent, a column may be the sum of two others; with both it has no residual."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 6))
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    rows[:, 5] = rows[:, 3] + rows[:, 4]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner = GaussianBNLearner(max_parents=1).fit(rows)
    masks, free = parent_masks(learner.dag_), [(1 << 6) - 1] * 6
    scorer = LocalScoreTransformer(max_parents=1).fit_transform(rows).scorer
    gains = gains_of_one_more_parent(scorer, masks, free, list(range(6)))
    assert gains.max() < 10
    assert not caught
