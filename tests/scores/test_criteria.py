"""Criteria: their formulas, what they share, and those that users write."""

import pickle

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from scipy.special import comb
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_wine

import skbn
from skbn import AIC, BIC, EBIC, BGe, Criterion, GaussianBNLearner, LocalScoreTransformer
from skbn._data.statistics import Prior
from skbn._scores.criteria import same_criterion
from skbn.datasets import make_gaussian_network

M = 5
OBJECTS = [
    skbn.LogLikelihood(),
    AIC(),
    BIC(),
    EBIC(),
    EBIC(1.0, form="chen-chen"),
    BGe(),
    BGe(2.5, 9.0, [0.1, -0.2, 0.3, 1.0]),
    BIC(unbiased_variance=True),
]


@pytest.fixture(scope="module")
def rows():
    return make_gaussian_network(M, n_samples=40, random_state=5)[0] * 3 + 7


def scores_of(rows, criterion, **settings):
    return LocalScoreTransformer(criterion, **settings).fit_transform(rows)


def fit(X, *criterion, weight=None, **settings):
    return GaussianBNLearner(*criterion, **settings).fit(X, sample_weight=weight)


def local_scores(scores, m=M):
    return {family: scores.local_score(*family) for family in reference.families(m)}


def assert_is_best(learner, local, m=M):
    """The learner's network scores as the best of those with these local scores."""
    best = reference.best_score_by_dynamic_program(local, m)
    assert learner.network_score_ == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize(
    ("criterion", "extension"),
    [
        ("ebic", lambda k: 0.5 * 2 * k * np.log(M)),
        (EBIC(1.5), lambda k: 1.5 * 2 * k * np.log(M)),
        (EBIC(0.7, form="chen-chen"), lambda k: 0.7 * np.log(comb(M - 1, k))),
        (EBIC(0.3, form="bnlearn"), lambda k: 0.3 * 4 * k * np.log(M)),
        *((each, lambda k: 0.0) for each in (EBIC(0), "bic", "aic", "loglik")),
    ],
)
@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.5])
def test_information_criteria(rows, criterion, extension, penalty):
    scores, local = scores_of(rows, criterion, penalty=penalty), {}
    array, base = scores.to_array(), criterion if criterion in ("aic", "loglik") else "bic"
    for (x, parents), score in reference.all_local_scores(rows, base, penalty).items():
        local[x, parents] = expected = score - penalty * extension(len(parents))
        assert scores.local_score(x, parents) == pytest.approx(expected, abs=1e-9)
        assert array[scores.family_index(x, parents)] == pytest.approx(expected, abs=1e-9)
    assert_is_best(fit(rows, criterion, penalty=penalty), local)


@pytest.mark.parametrize(
    ("criterion", "cost"),
    [
        (skbn.LogLikelihood, lambda n, k: 0.0),
        (AIC, lambda n, k: k + 2),
        (BIC, lambda n, k: (k + 2) * np.log(n) / 2),
    ],
)
def test_convention_of_bnlearn(rows, criterion, cost):
    """bnlearn sums dnorm(residuals, sd = sqrt(RSS / (n - l - 1)), log = TRUE)."""
    scores = scores_of(rows, criterion(unbiased_variance=True))
    usual = scores_of(rows, criterion())
    n = len(rows)
    for x, parents in reference.families(M):
        k = len(parents)
        intercept, coefficients, rss = reference.regression(rows, x, parents)
        fitted = intercept + rows[:, list(parents)] @ coefficients
        log_likelihood = norm.logpdf(rows[:, x], fitted, np.sqrt(rss / (n - k - 1))).sum()
        score = scores.local_score(x, parents)
        assert score == pytest.approx(log_likelihood - cost(n, k), abs=1e-9)
        offset = n / 2 * np.log((n - k - 1) / n) + (k + 1) / 2
        assert score - usual.local_score(x, parents) == pytest.approx(offset, abs=1e-9)


def test_unbiased_variance_is_that_of_the_network(rows):
    network = fit(rows, BIC(unbiased_variance=True)).network_
    for x in range(M):
        parents = sorted(network.dag.predecessors(x))
        rss = reference.regression(rows, x, parents)[2]
        expected = rss / (len(rows) - len(parents) - 1)
        assert network.noise_variance_[x] == pytest.approx(expected, rel=1e-9)


# BGe


def test_bge_by_hand():
    """Two equal columns (0, 2), so that T = I / 2, x = y: R = [[2.5, 2], [2, 2.5]].

    p(x) = (1/3)^(1/2) * Gamma(5/2) / (pi * Gamma(3/2)) * (1/2)^(3/2) / 2.5^(5/2), and
    p(x, y) = 1/3 * (Gamma(3) Gamma(5/2)) / (pi^2 Gamma(2) Gamma(3/2)) * (1/4)^2 / 2.25^3,
    by the formula of Kuipers, Moffa & Heckerman (2014).
    """
    scores = scores_of([[0.0, 0.0], [2.0, 2.0]], "bge")
    one = np.sqrt(1 / 3) * 1.5 / np.pi * 0.5**1.5 / 2.5**2.5
    both = 1 / 3 * 3 / np.pi**2 * 0.0625 / 2.25**3
    assert one == pytest.approx(0.00986251, rel=1e-5)
    assert both == pytest.approx(0.00055595, rel=1e-5)
    assert scores.local_score(0) == pytest.approx(np.log(one), rel=1e-13)
    assert scores.local_score(0, [1]) == pytest.approx(np.log(both / one), rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 4, 5, 6, 40])
@pytest.mark.parametrize(
    "settings", [{}, {"alpha_mu": 0.3, "alpha_w": 11.5}, {"nu": [1.0, -2, 0, 30, 4]}]
)
def test_bge_against_mpmath(n, settings):
    rows = make_gaussian_network(M, n_samples=n, random_state=n)[0] * [1, 10, 0.1, 3, 1e4] + 2
    transformer = LocalScoreTransformer(BGe(**settings)).fit(np.vstack([rows, rows]))
    scores, small = transformer.transform(rows), transformer.set_params(max_parents=2)
    small = small.transform(rows)
    array, small_array = scores.to_array(), small.to_array()
    for (x, parents), expected in reference.all_bge_local_scores(rows, **settings).items():
        assert scores.local_score(x, parents) == pytest.approx(expected, rel=1e-9)
        assert array[scores.family_index(x, parents)] == pytest.approx(expected, rel=1e-9)
        if len(parents) <= 2:
            index = small.family_index(x, parents)
            assert small_array[index] == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
def test_bge_with_collinear_and_constant_columns():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12))
    rows = np.column_stack([a, b, a + b, 2 * a, np.full(12, 3.0)])
    scores = scores_of(rows, "bge")
    everything = reference.all_bge_local_scores(rows)
    for (x, parents), expected in everything.items():
        assert scores.local_score(x, parents) == pytest.approx(expected, rel=1e-9)
    assert_is_best(fit(rows, "bge"), everything)


def test_bge_network_has_posterior_means():
    """With the complete network, the parameters are those of the posterior of (mu, W)."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(6, 3)) @ rng.normal(size=(3, 3)) + [1, 2, 3]
    alpha_mu, alpha_w, nu = 2.0, 7.0, np.array([0.0, 1.0, -1.0])
    criterion = BGe(alpha_mu, alpha_w, nu)
    complete = [("a", "b"), ("a", "c"), ("b", "c")]
    frame = pd.DataFrame(rows, columns=list("abc"))
    network = GaussianBNLearner(criterion, required_edges=complete).fit(frame).network_
    n, m = rows.shape
    mean = rows.mean(axis=0)
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    posterior = t * np.eye(m) + (rows - mean).T @ (rows - mean)
    posterior += alpha_mu * n / (alpha_mu + n) * np.outer(mean - nu, mean - nu)
    np.testing.assert_allclose(network.mean_, (alpha_mu * nu + n * mean) / (alpha_mu + n))
    # c is the last column: its precision given the others has the mean of the Wishart's corner.
    precision = (n + alpha_w) * np.linalg.inv(posterior)
    assert network.noise_variance_[2] == pytest.approx(1 / precision[2, 2])
    np.testing.assert_allclose(network.coef_[:2, 2], -precision[:2, 2] / precision[2, 2])


def labelled_table(rows):
    return pd.DataFrame(rows, columns=list("pqrst"))


NU = {"p": 1.0, "q": -2.0, "r": 0.0, "s": 30.0, "t": 4.0}
LABELLED = [
    pd.Series(NU),
    pd.Series(NU).sort_values(),
    dict(reversed(NU.items())),
    pd.Series([30, 1, 4, -2, 0], index=[3, "p", 4, 1, "r"]),  # columns by number, as elsewhere
]


@pytest.mark.parametrize("nu", LABELLED)
def test_a_labelled_nu_goes_by_its_labels(rows, nu):
    table = labelled_table(rows)
    learner, expected = (fit(table, BGe(nu=each)) for each in (nu, list(NU.values())))
    assert learner.network_score_ == expected.network_score_
    assert nx.utils.graphs_equal(learner.dag_, expected.dag_)
    if set(dict(nu)) == set(NU):  # no numbers: in any order of the columns
        turned = fit(table[list("tsrqp")], BGe(nu=nu))
        assert turned.network_score_ == pytest.approx(expected.network_score_, rel=1e-12)
    arrays = [
        scores_of(table, BGe(nu=each), max_parents=2).to_array() for each in (nu, list(NU.values()))
    ]
    np.testing.assert_array_equal(*arrays)


def test_a_labelled_nu_of_columns_without_names_goes_by_their_numbers(rows):
    expected = fit(rows, BGe(nu=list(NU.values()))).network_score_
    numbered = pd.Series(list(NU.values()))
    for nu in (numbered, numbered.sort_values(), numbered.to_dict()):
        assert fit(rows, BGe(nu=nu)).network_score_ == expected
    raises(r"nu: There is no column 'p'.* 0 to 4|nu: .*'p'", fit, rows, BGe(nu=pd.Series(NU)))


@pytest.mark.parametrize(
    ("nu", "message"),
    [
        ({"p": 1.0, "q": 2.0, "r": 0, "s": 1}, r"nu .*for each column; missing \['t'\]"),
        (pd.Series({**NU, "z": 1.0}), r"nu: There is no column 'z'; the columns are"),
        (pd.Series([*NU.values(), 7.0], index=[*NU, "p"]), r"nu .*'p' twice"),
        ({**NU, 0: 1.0}, r"nu .*'p' twice"),
        ({**NU, "q": np.nan}, "column 'q' in nu must be a finite number; got nan"),
        ({**NU, "q": "2"}, "column 'q' in nu must be a finite number; got '2'"),
        ({**NU, 1.5: 2.0}, r"nu: .*by its name or its number; got 1\.5"),
        ({}, r"nu .*for each column; missing \['p', 'q'"),
    ],
)
def test_labels_that_are_not_those_of_the_columns_are_named(rows, nu, message):
    for estimator in (GaussianBNLearner(BGe(nu=nu)), LocalScoreTransformer(BGe(nu=nu))):
        raises(message, estimator.fit, labelled_table(rows))


def test_a_labelled_nu_without_a_table_goes_by_numbers():
    mean = np.zeros(2)
    by_number = BGe(nu={1: 3.0, 0: 1.0}).prior(10, mean)
    np.testing.assert_array_equal(by_number.mean, BGe(nu=[1.0, 3.0]).prior(10, mean).mean)
    raises(r"nu: .*'a'", BGe(nu=pd.Series({"a": 1.0, "b": 3.0})).prior, 10, mean)
    criterion = BGe(nu={"b": 3.0, "a": 1.0}).for_columns(["a", "b"])
    np.testing.assert_array_equal(criterion.prior(10, mean).mean, by_number.mean)


@pytest.mark.parametrize("nu", LABELLED)
def test_a_labelled_nu_is_a_parameter_like_any_other(rows, nu):
    table = labelled_table(rows)
    learner = clone(pickle.loads(pickle.dumps(GaussianBNLearner(BGe(nu=nu)))))
    fitted = pickle.loads(pickle.dumps(learner.fit(table)))
    assert same_criterion(fitted.criterion_, BGe(nu=nu))
    assert "BGe(nu=" in repr(fitted.criterion_)
    assert learner._repr_html_()
    assert "\n" not in repr(scores_of(table, BGe(nu=nu)))


def test_labels_are_part_of_what_makes_criteria_the_same(rows):
    assert same_criterion(BGe(nu=LABELLED[0]), BGe(nu=LABELLED[1]))
    assert same_criterion(BGe(nu=LABELLED[0]), BGe(nu=LABELLED[2]))
    renamed = LABELLED[0].rename({"p": "q", "q": "p"})
    assert not same_criterion(BGe(nu=LABELLED[0]), BGe(nu=renamed))
    assert not same_criterion(BGe(nu=LABELLED[0]), BGe(nu=LABELLED[0].to_numpy()))
    scores = scores_of(labelled_table(rows), BGe(nu=LABELLED[0]))
    score = fit(scores).network_score_
    for nu in (*LABELLED, list(NU.values())):  # the same for these columns
        assert fit(scores, BGe(nu=nu)).network_score_ == score
    for nu in (renamed, LABELLED[1].to_numpy()):
        raises("for, but the LocalScores were made with", fit, scores, BGe(nu=nu))


class ByColumn(BIC):
    """Gives what it is told to, once it knows the columns."""

    def __init__(self, means):
        self.means = means

    def for_columns(self, columns):
        return ByColumn([self.means[column] for column in columns])

    def prior(self, n_samples, mean):
        return Prior(np.atleast_2d(np.array(self.means, dtype=float) - mean), mean)


def test_a_users_criterion_is_told_the_columns(rows):
    table = labelled_table(rows)
    expected = scores_of(rows, ByColumn(dict(enumerate(NU.values())))).local_score(1, [0])
    learner = fit(table[list("tsrqp")], ByColumn(NU))
    assert learner.criterion_.means == NU
    scores = scores_of(table[list("tsrqp")], ByColumn(NU))
    assert scores.local_score("q", ["p"]) == pytest.approx(expected, rel=1e-12)

    class Wrong(BIC):
        def for_columns(self, columns):
            return None

    message = r"Wrong\.for_columns must return a Criterion; got None"
    raises(message, fit, table, Wrong(), kind=TypeError)


def test_bge_refuses_what_its_prior_cannot_carry():
    rows = np.random.default_rng(0).normal(size=(20, 2)) * 1e12
    message = r"too small relative to the columns' spread .* standardise"
    raises(message, scores_of(np.column_stack([rows, rows[:, 0]]), "bge").local_score, 0, [2])


# What criteria share


@pytest.mark.parametrize("criterion", OBJECTS, ids=str)
@hypothesis.given(st.integers(0, 2**32), st.sampled_from([0.5, 1.0]))
@hypothesis.settings(max_examples=10)
def test_equivalent_networks_have_equal_scores(criterion, seed, penalty):
    rng = np.random.default_rng(seed)
    n, units = int(rng.integers(6, 100)), rng.uniform(0.1, 9, 4)
    rows = make_gaussian_network(4, n_samples=n, random_state=rng)[0] * units
    if isinstance(criterion, BGe):
        penalty = 1.0
    scores = scores_of(rows, criterion, penalty=penalty)
    local = local_scores(scores, 4)
    for members in reference.classes_of_dags(4):
        totals = [sum(local[x, parents] for x, parents in enumerate(dag)) for dag in members]
        assert max(totals) - min(totals) < 1e-9 * (1 + abs(min(totals)))


@pytest.mark.parametrize("criterion", ["bge", OBJECTS[-1]], ids=str)
def test_optimum(rows, criterion):
    assert_is_best(fit(rows, criterion), local_scores(scores_of(rows, criterion)))


class Lopsided(Criterion):
    """Equivalent networks do not tie, and units matter."""

    def tables(self, n_samples, m):
        n_parents = np.arange(m)
        return np.array([-2.0 * n_parents, 20 + 3.0 * n_parents, -20 - n_parents**1.5])


def test_a_criterion_that_is_not_score_equivalent():
    for seed in range(20):
        rows = np.random.default_rng(seed).normal(size=(30, 4)) * [1, 3, 0.2, 9]
        local = local_scores(scores_of(rows, Lopsided()), 4)
        cross = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
        tables = Lopsided().tables(30, 4)
        for (x, parents), score in local.items():
            expected = reference.family_score(cross, np.zeros(4), tables, x, parents)
            assert score == pytest.approx(expected, abs=1e-8)
        assert_is_best(fit(rows, Lopsided()), local, 4)


class HannanQuinn(skbn.InformationCriterion):
    def __init__(self, price=2.0):
        self.price = price

    def complexity(self, n_samples, m):
        return self.price * (np.arange(m) + 2) * np.log(np.log(n_samples))


def test_a_users_information_criterion(rows):
    weight = 3.0 * np.log(np.log(len(rows)))
    scores = scores_of(rows, HannanQuinn(3.0), penalty=1.5)
    expected = reference.local_score(rows, 1, (0, 3), "loglik") - 1.5 * 4 * weight
    assert scores.local_score(1, [0, 3]) == pytest.approx(expected, abs=1e-9)
    learner = GaussianBNLearner(HannanQuinn()).set_params(criterion__price=0.0).fit(rows)
    assert learner.dag_.number_of_edges() == M * (M - 1) // 2


def test_parameters_are_reached_from_outside():
    learner = GaussianBNLearner(EBIC()).set_params(criterion__gamma=0.25, criterion__form="bnlearn")
    assert same_criterion(learner.criterion, EBIC(0.25, form="bnlearn"))
    assert same_criterion(clone(learner).criterion, learner.criterion)
    assert not same_criterion(EBIC(0.25), EBIC(0.5))
    assert not same_criterion(BIC(), EBIC(0))
    assert same_criterion(BGe(nu=[1, 2]), BGe(nu=np.array([1.0, 2.0])))


def test_the_given_object_stays_as_it_is(rows):
    criterion = EBIC(0.3)
    scores = scores_of(rows, criterion)
    criterion.gamma = 9.0
    assert scores.criterion.gamma == 0.3


# Errors


def test_bge_has_no_penalty(rows):
    raises(r"penalty=2\.0 was asked for, but BGe has no complexity", fit, rows, "bge", penalty=2)


def test_a_criterion_without_tables_cannot_be_made():
    raises(r"abstract class Criterion .*tables", Criterion, kind=TypeError)
    raises(r"class InformationCriterion .*complexity", skbn.InformationCriterion, kind=TypeError)


# What a search must not take for a tie, nor for a network


class Shifted(BIC):
    """The BIC with a constant added to the complexity of every family."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def complexity(self, n_samples, m):
        return super().complexity(n_samples, m) + self.shift


@pytest.mark.parametrize("shift", [-2e12, 1e6, 1e12])
@pytest.mark.parametrize("max_parents", [None, 4])
def test_a_constant_that_all_families_share_does_not_matter(shift, max_parents, monkeypatch):
    monkeypatch.setattr("skbn._solver.engines._WORK_OF_LISTING", 0)  # lists, where there are such
    wine = load_wine().data
    plain, shifted = (fit(wine, c, max_parents=max_parents) for c in ("bic", Shifted(shift)))
    assert set(shifted.dag_.edges) == set(plain.dag_.edges)
    shared = 13 * shift
    assert shifted.network_score_ + shared == pytest.approx(plain.network_score_, abs=13 * 1e-3)


@pytest.mark.parametrize("shift", [1e13, 1e15, -1e15, 1e90])
def test_a_constant_that_hides_differences_is_refused(rows, shift):
    message = r"Shifted\.tables\(.*, 5\) has .*e\+.* in its first row .*Leave out a constant"
    raises(message, GaussianBNLearner(Shifted(shift)).fit, rows)
    GaussianBNLearner(Shifted()).fit(rows)


class AtMostOneParent(BIC):
    """The BIC, where all but one parent are ruled out by their cost."""

    def complexity(self, n_samples, m):
        cost = super().complexity(n_samples, m)
        cost[2:] = np.inf
        return cost


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_an_infinite_cost_rules_out_whatever_the_penalty(rows, penalty):
    dag = fit(rows, AtMostOneParent(), penalty=penalty).dag_
    assert max(degree for _, degree in dag.in_degree()) == 1
    limited = fit(rows, "bic", penalty=penalty, max_parents=1)
    assert set(dag.edges) == set(limited.dag_.edges)


class RulesOut(Criterion):
    """The likelihood, some numbers of parents being ruled out."""

    def __init__(self, numbers, cost=-np.inf):
        self.numbers = numbers
        self.cost = cost

    def tables(self, n_samples, m):
        constant = np.zeros(m)
        constant[list(self.numbers)] = self.cost
        half_n = np.full(m, n_samples / 2)
        return np.array([constant, half_n, -half_n])


@pytest.mark.parametrize(
    ("numbers", "settings"),
    [
        ([1], {"required_edges": [(0, 1)], "forbidden_edges": [(2, 1)]}),
        ([1], {"required_edges": [(0, 1)], "max_parents": 1}),
        ([0], {}),
        ([0], {"tiers": [[0], [1, 2]]}),
        ([0], {"tiers": [[1], [2], [0]]}),
        ([0], {"tiers": [[0], [1], [2]], "max_parents": 1}),
    ],
)
def test_a_search_without_a_network_is_an_error(numbers, settings):
    rows = np.random.default_rng(0).normal(size=(50, 3))
    raises(r"network of the columns \[", fit, rows, RulesOut(numbers), **settings)


@pytest.mark.parametrize("cost", [-1e13, -1e99])
@pytest.mark.parametrize("max_parents", [None, 4])
def test_a_huge_cost_hides_no_difference(rows, cost, max_parents, monkeypatch):
    monkeypatch.setattr("skbn._solver.engines._WORK_OF_LISTING", 0)  # lists, where there are such
    offset = len(rows) / 2 * (1 + np.log(2 * np.pi / len(rows)))
    local = {
        (x, p): score + offset if len(p) < 2 else -np.inf
        for (x, p), score in reference.all_local_scores(rows, "loglik").items()
    }
    assert_is_best(fit(rows, RulesOut([2, 3, 4], cost), max_parents=max_parents), local)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
@pytest.mark.parametrize("work", [0, 1e12])
@pytest.mark.parametrize("fewest", [2, 6, 8])
def test_ties_are_broken_alike_however_the_search_goes(work, fewest, monkeypatch):
    """Equal columns tie exactly; the first of them in the table is the parent."""
    monkeypatch.setattr("skbn._solver.engines._WORK_OF_LISTING", work)
    monkeypatch.setattr("skbn._exact.plan._FEWEST_COLUMNS", fewest)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 8))
    rows[:, 3] = rows[:, 0]
    rows[:, 7] = rows[:, 0] + 0.3 * rows[:, 7]
    settings = {"tiers": [[0, 1], [2, 3, 4, 5, 6, 7]], "max_parents": 2}
    dag = fit(rows, "bge", forbidden_edges=[(0, 3)], **settings).dag_
    assert 0 in dag.predecessors(7)
    assert 3 not in dag.predecessors(7)


# Both ends of the documented ranges


@pytest.mark.parametrize(
    "criterion",
    ["aic", "bic", BIC(unbiased_variance=True), "ebic", EBIC(form="chen-chen"), EBIC(1e100)],
)
def test_the_largest_penalty_leaves_no_edge(wine, criterion):
    for penalty in (1e13, 1e50, 1e100):  # which are no constant that hides differences
        assert not fit(wine, criterion, penalty=penalty).dag_.edges
    smallest = fit(wine, criterion, penalty=0.0).dag_
    assert smallest.number_of_edges() > 40
    chosen = skbn.GaussianBNLearnerCV([0.0, 9.9e99, 1e100], cv=2, criterion=criterion).fit(wine)
    np.testing.assert_array_equal(chosen.cv_results_["mean_n_edges"][1:], 0)


# Of terms as large as these, the rounding is in the gap.
may_be_rounded = pytest.mark.filterwarnings("ignore:Rounding hides differences")


@may_be_rounded
@pytest.mark.parametrize("criterion", ["aic", "bic", "ebic"])
def test_a_large_penalty_leaves_required_edges_alone_or_is_refused(wine, criterion):
    edges = [("alcohol", "hue"), ("ash", "hue")]
    learner = GaussianBNLearner(criterion, penalty=1e8, required_edges=edges).fit(wine)
    assert list(learner.dag_.edges) == edges
    assert learner.optimality_gap_ < 1e-5
    raises(r"known only to .* nats.*lower the penalty", learner.set_params(penalty=1e100).fit, wine)


@may_be_rounded
@pytest.mark.parametrize("alpha_mu", [1e-100, 1e100])
@pytest.mark.parametrize("alpha_w", [np.nextafter(4, 5), 1e8])
def test_the_ends_of_the_prior_of_bge(wine, alpha_mu, alpha_w):
    settings = {"alpha_mu": alpha_mu, "alpha_w": alpha_w}
    columns = wine.iloc[:20, :3].to_numpy()
    scores = scores_of(columns, BGe(**settings))
    for x, parents in reference.families(3):
        expected = reference.bge_local_score(columns, x, parents, **settings)
        terms = 1e8 * np.log(1e100) if alpha_w == 1e8 else np.abs(expected)
        assert scores.local_score(x, parents) == pytest.approx(expected, abs=1e-14 * terms + 1e-9)
    settings["alpha_w"] = max(alpha_w, np.nextafter(14, 15))
    learner = GaussianBNLearner(BGe(**settings)).fit(wine)
    assert np.isfinite(learner.network_score_)
    assert learner.optimality_gap_ < 1e-4


def test_numbers_of_other_types_mean_the_same(wine):
    rows = wine.iloc[:, :5]
    for number in (np.float16, np.float32, np.longdouble):
        learners = [fit(rows, EBIC(each(0.5)), penalty=each(2.0)) for each in (float, number)]
        assert learners[0].network_score_ == learners[1].network_score_
        assert (
            skbn.GaussianBNLearnerCV([number(2.0)], cv=2, criterion=EBIC(0.5)).fit(rows).penalty_
            == 2
        )
        learners = [fit(rows, BGe(each(0.375), each(8.5))) for each in (float, number)]
        assert learners[0].network_score_ == learners[1].network_score_


@pytest.mark.filterwarnings("ignore::skbn.exceptions.SampleWeightWarning")
def test_a_sum_of_weights_that_is_too_large_is_what_is_named(wine):
    for weight in (1e8, 5e297):
        message = r"sum of their weights, BIC weighs log-det.* smaller"
        raises(message, fit, wine, weight=np.full(178, weight))


class Given(Criterion):
    def __init__(self, given):
        self.given = given

    def tables(self, n_samples, m):
        return self.given


class BadParts(BIC):
    def __init__(self, parts):
        self.parts = parts

    def complexity(self, n_samples, m):
        return self.parts.get("complexity", np.zeros(m))

    def prior(self, n_samples, mean):
        return self.parts.get("prior")

    def noise_divisors(self, n_samples, m):
        return self.parts.get("noise_divisors", np.full(m, 40.0))


FROM_E_TO_A = pd.Series(np.zeros(5), list("edcba"))
LABELLED_PARTS = [
    ({"complexity": pd.Series(np.arange(5.0)).sort_index(ascending=False)},
     r"complexity\(40, 5\) must .* labels \[4, 3, .* return an array.*to_numpy\(\)"),
    ({"noise_divisors": pd.Series(np.full(5, 40.0), index=list("abcde"))},
     r"noise_divisors.* must come without labels.* the labels \['a', .* return an array"),
    ({"prior": Prior(np.ones((1, 5)), FROM_E_TO_A)},
     r"prior: the mean must come without labels.* the labels \['e', .* return an array"),
    ({"prior": Prior(FROM_E_TO_A.to_frame().T, [0] * 5)},
     r"prior: the rows must come without labels.* the labels \['e', .* return an array"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (EBIC(-1), "'gamma' parameter of EBIC must be a float in the range"),
        (EBIC(form="bic"), "'form' parameter of EBIC must be a str among"),
        (BGe(alpha_mu=0), "'alpha_mu' parameter of BGe"),
        (BGe(alpha_w=6), r"alpha_w must be larger than m \+ 1 = 6 .* got 6"),
        (BGe(nu=[1.0, 2.0]), r"nu must hold .* for each of the 5 .*\[1\.0, 2\.0\]"),
        (BGe(nu=[1.0, 2.0, 3, 4, np.nan]), r"nu must hold .*got \[1\.0, 2\.0, 3\.0, 4\.0, nan\]"),
        (BGe(nu=np.full(5, 1e160)), r"nu must hold .*at most 1e\+150 in magnitude; got \[1e\+160,"),
        (BGe(nu=np.zeros((5, 5))), r"nu must hold .*got ndarray of shape \(5, 5\)"),
        (BGe(nu=np.full(5, 1e20)), "collinear .* a prior mean nearer to theirs"),
        (BGe(alpha_w=np.float64(5)), r"alpha_w must be larger than .* got 5\.0\."),
        (BIC(unbiased_variance=3), "'unbiased_variance' parameter of BIC"),
        (Given(np.outer([0, 1e10, -1e10], np.ones(M))), r"weighs log-determinants by up to 1e\+10"),
        (Given(np.zeros((3, 4))), r"tables\(40, 5\) must be an array of numbers of shape \(3, 5\)"),
        (Given(np.full((3, M), np.nan)), "must be finite, except for -inf in its first row"),
        (Given(np.full((3, M), np.inf)), "must be finite, except for -inf in its first row"),
        (BadParts({"complexity": np.zeros(6)}), r"complexity\(40, 5\) must be an array of numbers"),
        (BadParts({"complexity": ["a"] * 5}), r"complexity\(40, 5\) must be an array of numbers"),
        (BadParts({"complexity": [[1], [1, 2]]}), r"complexity\(40, 5\) must be an array"),
        (BadParts({"noise_divisors": np.full(5, np.nan)}), "noise_divisors.* must not be NaN"),
        (BadParts({"noise_divisors": np.ones(3)}), r"noise_divisors.* of shape \(5,\)"),
        (BadParts({"prior": Prior(np.ones((1, 4)), np.zeros(5))}), r"prior: the rows must be"),
        (BadParts({"prior": Prior(np.full((1, 5), np.nan), np.zeros(5))}), "prior must be finite"),
        *((BadParts(parts), message) for parts, message in LABELLED_PARTS),
        (BGe(nu=["a"] * 5), "nu must hold a finite prior mean"),
        (BGe(alpha_mu=5e-324), "'alpha_mu' parameter of BGe"),
        (BGe(alpha_w=1e16), "'alpha_w' parameter of BGe"),
    ],
)
def test_parts_of_criteria_that_are_no_good(rows, criterion, message):
    raises(message, GaussianBNLearner(criterion).fit, rows)


def test_a_noise_that_cannot_be_estimated(rows):
    class NoDivisor(RulesOut):
        def noise_divisors(self, n_samples, m):
            return np.zeros(m)

    message = r"noise of column \d with \d parents cannot be estimated"
    raises(message, fit, rows, NoDivisor([]))
    message = "prior must return a Prior or None; got 3"
    raises(message, fit, rows, BadParts({"prior": 3}), kind=TypeError)


def test_nested_criteria_are_compared_by_their_parameters(rows):
    class Twice(Criterion):
        def __init__(self, base):
            self.base = base

        def tables(self, n_samples, m):
            return 2 * self.base.tables(n_samples, m)

    scores = scores_of(rows, Twice(BIC()))
    expected = 2 * fit(rows, "bic").network_score_
    assert fit(scores, Twice(BIC())).network_score_ == pytest.approx(expected)
    raises("for, but the LocalScores were made with", fit, scores, Twice(AIC()))


def test_scores_of_no_rows(rows):
    for criterion in ("bic", "bge"):
        raises("There are no rows", scores_of(rows, criterion)[:0].local_score, 0)
