import pickle
from itertools import combinations

import numpy as np
import pytest
import reference
from scipy import stats
from sklearn import config_context

from skbn import BGe, LocalScoreTransformer
from skbn._core.subsets import mask_of, members_of, subsets_of
from skbn._data.statistics import GroupStatistics
from skbn._posterior.adjustment import AdjustedEffectPosterior, adjusted_effect
from skbn._posterior.parameter_draws import draw_parameters, family_posteriors


def statistics_and_criterion(rows, criterion, **settings):
    scorer = LocalScoreTransformer(criterion, **settings).fit_transform(rows).scorer
    return scorer.statistics, scorer.criterion


def dependent_rows(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) @ (np.eye(m) + np.triu(rng.normal(size=(m, m)), 1))


def effect_of(probability_zero, *components):
    """The posterior with components of weight, location, scale and degrees of freedom."""
    columns = np.array(components, dtype=float).reshape(-1, 4).T.copy()
    return AdjustedEffectPosterior("a", "b", probability_zero, *columns)


MIXED = effect_of(0.3, (0.2, -1.0, 0.3, 5), (0.4, 2.0, 0.1, 30.5), (0.1, 0.1, 3.0, 7))
POSTERIORS = {
    "mixed": MIXED,
    "no point mass": effect_of(0.0, (0.5, 1.0, 0.1, 9), (0.5, -4.0, 2.0, 3)),
    "one component": effect_of(0.0, (1.0, 3.0, 0.2, 11)),
    "tiny units": effect_of(0.25, (0.75, 3e-200, 2e-201, 12)),
    "huge units": effect_of(0.25, (0.5, 3e200, 2e199, 12), (0.25, -1e200, 1e200, 11)),
    "far from 0": effect_of(0.1, (0.6, 1e6, 1e-3, 40), (0.3, 1e6 + 1, 1e-2, 41)),
    "two modes": effect_of(0.0, (0.5, -1.0, 1e-4, 500), (0.5, 1.0, 1e-4, 500)),
    "thick tails": effect_of(0.5, (0.25, 0.0, 1.0, 0.5), (0.25, 2.0, 0.1, 1.0)),
    "never 0": effect_of(1e-17, (0.5, 100.0, 0.1, 50), (0.5, 101.0, 0.1, 50)),
}


# The mixture


@pytest.mark.parametrize("effect", POSTERIORS.values(), ids=POSTERIORS)
def test_distribution_function(effect):
    values = np.array([-1.0, -0.1, 0.0, 0.01, 1.0, 2.5])
    values = values * np.abs(effect.locations).max() + effect.locations[0]
    expected = [
        sum(
            w * stats.t(d, at, s).cdf(value)
            for w, at, s, d in zip(
                effect.weights, effect.locations, effect.scales, effect.freedoms, strict=True
            )
        )
        + (effect.probability_zero if value >= 0 else 0)
        for value in values
    ]
    np.testing.assert_allclose(effect.cdf(values), expected, rtol=1e-12, atol=1e-15)
    assert effect.cdf(-np.inf) == 0
    assert effect.cdf(np.inf) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("effect", POSTERIORS.values(), ids=POSTERIORS)
def test_quantiles_invert_the_distribution_function(effect):
    below = effect.cdf(-np.finfo(float).tiny)
    at_zero = effect.cdf(0.0)
    for q in [1e-12, 1e-5, 0.025, 0.2, 0.5, 0.7, 0.9, 0.975, 1 - 1e-9]:
        value = effect.quantile(q)
        if below < q <= at_zero:
            assert value == 0
        else:
            # A value far from 0 is known to eps only.
            margin = np.finfo(float).eps * abs(value) / effect.scales.min()
            assert effect.cdf(value) == pytest.approx(q, rel=1e-12, abs=1e-14 + margin)


@pytest.mark.parametrize("effect", POSTERIORS.values(), ids=POSTERIORS)
def test_distribution_function_inverts_quantiles(effect):
    spread = np.array([-2.0, -0.5, 0.3, 1.0])
    for location, scale in zip(effect.locations, effect.scales, strict=True):
        for value in location + scale * spread:
            slope = (
                (effect.cdf(value + scale / 1e3) - effect.cdf(value - scale / 1e3)) / scale * 500
            )
            margin = 1e-13 * abs(value) + 1e-15 / slope
            assert effect.quantile(effect.cdf(value)) == pytest.approx(value, rel=0, abs=margin)


def test_quantiles_of_one_component():
    effect, t = POSTERIORS["one component"], stats.t(11, 3.0, 0.2)
    q = np.array([[1e-8, 0.1], [0.5, 0.999]])
    np.testing.assert_allclose(effect.quantile(q), t.ppf(q), rtol=1e-9)
    assert effect.quantile(0.5) == pytest.approx(3.0, rel=1e-15)
    assert effect.interval(0.9) == pytest.approx(t.interval(0.9), rel=1e-9)
    assert (effect.mean, effect.std) == pytest.approx((t.mean(), t.std()))


def test_ends_of_the_range():
    assert MIXED.quantile([0, 1]).tolist() == [-np.inf, np.inf]
    assert MIXED.interval(1) == (-np.inf, np.inf)
    assert MIXED.interval(0)[0] == MIXED.interval(0)[1] == MIXED.quantile(0.5)


def test_no_effect_at_all():
    effect = effect_of(1.0)
    assert (effect.mean, effect.std, effect.interval()) == (0, 0, (0, 0))
    assert effect.quantile([0, 0.5, 1]).tolist() == [0, 0, 0]
    assert effect.cdf([-1e-300, 0, 1]).tolist() == [0, 1, 1]


def test_quantiles_of_many_components():
    """More of them than are merged for a start."""
    rng = np.random.default_rng(0)
    k = 5000
    weights = rng.gamma(0.1, size=k) + 1e-12
    components = 0.8 * weights / weights.sum(), rng.normal(size=k), rng.gamma(2, size=k)
    effect = AdjustedEffectPosterior(0, 1, 0.2, *components, rng.integers(3, 50, size=k) * 1.0)
    for q in [1e-6, 0.025, 0.3, 0.9, 0.999]:
        assert effect.cdf(effect.quantile(q)) == pytest.approx(q, rel=1e-12)


def test_moments_by_simulation():
    rng, n = np.random.default_rng(1), 10**6
    shares = [MIXED.probability_zero, *MIXED.weights]
    which = rng.choice(len(shares), size=n, p=shares)
    draws = np.zeros(n)
    for i in range(len(MIXED.weights)):
        mine = which == i + 1
        t = rng.standard_t(MIXED.freedoms[i], size=mine.sum())
        draws[mine] = MIXED.locations[i] + MIXED.scales[i] * t
    assert MIXED.mean == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(n))
    assert MIXED.std == pytest.approx(draws.std(), rel=0.01)
    for value in (-1.0, 0.0, 2.0):
        assert MIXED.cdf(value) == pytest.approx(np.mean(draws <= value), abs=2.5 / np.sqrt(n))


def test_moments_of_extreme_units():
    for name in ("tiny units", "huge units"):
        effect = POSTERIORS[name]
        unit = 1e200 if name == "huge units" else 1e-200
        small = AdjustedEffectPosterior(
            0,
            1,
            effect.probability_zero,
            effect.weights,
            effect.locations / unit,
            effect.scales / unit,
            effect.freedoms,
        )
        assert effect.mean == pytest.approx(small.mean * unit, rel=1e-12)
        assert effect.std == pytest.approx(small.std * unit, rel=1e-12)


def test_moments_that_do_not_exist():
    assert effect_of(0.5, (0.5, 2.0, 1.0, 2)).mean == 1
    assert effect_of(0.5, (0.5, 2.0, 1.0, 2)).std == np.inf
    assert np.isnan(POSTERIORS["thick tails"].mean)
    assert POSTERIORS["thick tails"].std == np.inf


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.nan])
def test_probabilities_out_of_range(wrong):
    with pytest.raises(ValueError, match=r"q must be from 0 to 1; got"):
        MIXED.quantile([0.5, wrong])
    with pytest.raises(ValueError, match=r"level must be from 0 to 1; got"):
        MIXED.interval(wrong)


def test_how_it_is_shown():
    lines = repr(MIXED).splitlines()
    assert lines[0] == "Effect of do(a) on b"
    assert lines[1].split() == ["probability", "of", "no", "effect", "0.3"]
    assert lines[-1].startswith("95 % interval")
    assert len(lines) == 5
    assert "<caption" in MIXED._repr_html_()
    with config_context(display="text"):
        assert MIXED._repr_html_() is None


def test_pickling():
    again = pickle.loads(pickle.dumps(MIXED))
    assert repr(again) == repr(MIXED)
    assert again.quantile(0.9) == MIXED.quantile(0.9)


# From parent sets to components


@pytest.mark.parametrize("criterion", ["bic", BGe(2.0, 9.5, [0.5, 0.0, 1.0, 0.0, -1.0])])
@pytest.mark.parametrize(("cause", "outcome"), [(0, 4), (4, 0), (2, 1), (1, 3)])
def test_each_component_is_a_regression(criterion, cause, outcome):
    m = 5
    rows = dependent_rows(30, m) * [1.0, 1e3, 1e-3, 2.0, 50.0] + [0, 7, 0, 0, 1]
    statistics, criterion = statistics_and_criterion(rows, criterion)
    masks = subsets_of(mask_of(set(range(m)) - {cause, outcome}))
    weights = np.linspace(0.05, 0.15, len(masks))
    effect = adjusted_effect(masks, weights, statistics, criterion, cause, outcome)
    assert (effect.cause, effect.outcome) == (cause, outcome)
    assert effect.probability_zero == pytest.approx(1 - weights.sum())
    assert effect.probability_left_out == 0
    for i, mask in enumerate(sorted(masks)):
        p = family_posteriors(statistics, criterion, [outcome], [[cause, *members_of(mask)]])
        scale = np.sqrt(p.sum_of_squares[0] / p.freedom * (p.root[0, 0] @ p.root[0, 0]))
        assert effect.weights[i] == pytest.approx(weights[masks.index(mask)])
        assert effect.locations[i] == pytest.approx(p.coefficients[0, 0], rel=1e-10)
        assert effect.scales[i] == pytest.approx(scale, rel=1e-10)
        assert effect.freedoms[i] == p.freedom


def test_few_of_many_columns():
    """More sets than are walked through together, in any order."""
    m, cause, outcome = 20, 7, 12
    rng = np.random.default_rng(2)
    rows = dependent_rows(60, m)
    statistics, criterion = statistics_and_criterion(rows, "bic", max_parents=1)
    others = [v for v in range(m) if v not in (cause, outcome)]
    masks = np.array([mask_of(s) for k in (0, 2, 5, 7) for s in combinations(others, k)])
    masks = rng.permutation(masks)
    assert len(masks) > 40_000
    weights = np.full(len(masks), 0.9 / len(masks))
    effect = adjusted_effect(masks, weights, statistics, criterion, cause, outcome)
    masks.sort()
    for i in rng.choice(len(masks), size=50, replace=False):
        design = [cause, *members_of(masks[i])]
        _, coefficients, rss = reference.regression(rows, outcome, design)
        centred = rows - rows.mean(axis=0)
        inverse = np.linalg.inv(centred[:, design].T @ centred[:, design])
        freedom = len(rows) - len(design) - 1
        assert effect.freedoms[i] == freedom
        assert effect.locations[i] == pytest.approx(coefficients[0], rel=1e-9)
        assert effect.scales[i] == pytest.approx(np.sqrt(rss / freedom * inverse[0, 0]), rel=1e-9)


def test_two_columns_in_closed_form():
    """There are three networks, and the effect is the slope in one of them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=15)
    rows = np.column_stack([x, 0.5 * x + rng.normal(size=15)])
    statistics, criterion = statistics_and_criterion(rows, "bge")
    score = reference.bge_local_score
    with_edge = score(rows, 1, [0]) + score(rows, 0, [])
    without = score(rows, 1, []) + score(rows, 0, [])
    probability = 1 / (2 + np.exp(without - with_edge))  # the two edges are equivalent
    effect = adjusted_effect([0, 2], [probability, 0.0], statistics, criterion, 0, 1)
    n, t = 15, 1 / 2  # alpha_mu = 1, alpha_w = m + 2, nu the mean
    scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0)) + t * np.eye(2)
    slope = scatter[0, 1] / scatter[0, 0]
    freedom = n + 4 - 2 + 2
    left = scatter[1, 1] - slope * scatter[0, 1]
    component = stats.t(freedom, slope, np.sqrt(left / freedom / scatter[0, 0]))
    assert effect.probability_zero == pytest.approx(1 - probability, abs=1e-15)
    assert effect.mean == pytest.approx(probability * slope)
    second_moment = probability * (component.var() + slope**2)
    assert effect.std == pytest.approx(np.sqrt(second_moment - effect.mean**2))
    high = effect.quantile(0.9)
    assert probability * component.sf(high) == pytest.approx(0.1, rel=1e-12)


def test_effects_in_drawn_networks():
    """If all edges are there, the coefficients along the paths make the same distribution."""
    rows = dependent_rows(25, 4)
    statistics, criterion = statistics_and_criterion(rows, BGe(0.5, 8.0))
    dag = [0, 0b0001, 0b0011, 0b0111]
    groups = [GroupStatistics([0, 1, 2, 3], statistics)]
    drawn = draw_parameters(groups, criterion, [dag] * 20_000, np.random.default_rng(4))
    coef = np.array([each.coef for each in drawn])
    total = np.linalg.inv(np.eye(4) - coef)
    for cause, outcome in [(0, 3), (0, 1), (1, 3), (2, 3)]:
        effect = adjusted_effect([dag[cause]], [1.0], statistics, criterion, cause, outcome)
        assert stats.kstest(total[:, cause, outcome], effect.cdf).pvalue > 1e-3


def test_effects_along_a_chain():
    """If an edge is missing, the coefficients along the paths know the effect better."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=100)
    z = x / 2 + rng.normal(size=100)
    rows = np.column_stack([x, z, z / 2 + rng.normal(size=100)])
    statistics, criterion = statistics_and_criterion(rows, "bge")
    groups = [GroupStatistics([0, 1, 2], statistics)]
    drawn = draw_parameters(groups, criterion, [[0, 1, 2]] * 2000, rng)
    along_path = [each.coef[0, 1] * each.coef[1, 2] for each in drawn]
    effect = adjusted_effect([0], [1.0], statistics, criterion, 0, 2)
    assert np.std(along_path) < 0.8 * effect.std
    assert abs(np.mean(along_path) - effect.mean) < effect.std


def test_improbable_parents_are_left_out():
    statistics, criterion = statistics_and_criterion(dependent_rows(30, 5), "bge")
    masks = subsets_of(0b11100)
    weights = np.array([4e-13, 0.3, 5e-13, 0.0, -1e-18, 0.5, 2e-12, 1e-13])
    effect = adjusted_effect(masks, weights, statistics, criterion, 0, 1)
    assert len(effect.weights) == 3
    assert effect.probability_left_out == pytest.approx(1e-12, rel=1e-3)
    assert effect.weights.sum() + effect.probability_zero == pytest.approx(1, abs=1e-15)
    nothing = adjusted_effect(masks, weights * 1e-13, statistics, criterion, 0, 1)
    assert (nothing.probability_zero, len(nothing.weights)) == (1, 0)
    assert adjusted_effect([], [], statistics, criterion, 0, 1).probability_zero == 1


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(dependent_rows(30, 3), columns=["hue", "ash", "phenols"])
    statistics, criterion = statistics_and_criterion(frame, "bge")
    effect = adjusted_effect([0, 2], [0.5, 0.3], statistics, criterion, 0, 2)
    assert repr(effect).startswith("Effect of do(hue) on phenols\n")


def test_an_outcome_among_the_parents():
    statistics, criterion = statistics_and_criterion(dependent_rows(30, 3), "bge")
    for wrong in (0b001, 0b010):
        with pytest.raises(ValueError, match=r"Columns 0 and 1, the cause and the outcome"):
            adjusted_effect([0b100, wrong], [0.5, 0.1], statistics, criterion, 0, 1)


def test_an_outcome_that_its_regression_determines():
    rows = dependent_rows(20, 4)
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    statistics, criterion = statistics_and_criterion(rows, "bic", max_parents=1)
    effect = adjusted_effect([0, 0b1000], [0.5, 0.3], statistics, criterion, 0, 2)
    assert effect.std > 0
    with pytest.raises(ValueError, match=r"Column 2 is collinear"):
        adjusted_effect([0, 0b0010], [0.5, 0.3], statistics, criterion, 0, 2)


def test_too_few_rows_for_the_regression():
    """The outcome's regression has one column more than the cause's largest family."""
    statistics, criterion = statistics_and_criterion(dependent_rows(3, 4), "bic", max_parents=1)
    assert adjusted_effect([0], [0.5], statistics, criterion, 0, 1).std == np.inf
    with pytest.raises(ValueError, match=r"n_samples = 3 rows, and a regression on 2 columns"):
        adjusted_effect([0, 0b1000], [0.5, 0.3], statistics, criterion, 0, 1)


def test_units_that_are_too_far_apart():
    rows = dependent_rows(20, 3)
    rows[:, 1] = rows[:, 2] + 1e-8 * rows[:, 1]
    statistics, criterion = statistics_and_criterion(rows * [1e152, 1e-151, 1e-151], "bic")
    with pytest.raises(ValueError, match=r"effect of column 1 on column 0 is out of float64"):
        adjusted_effect([0b100], [0.5], statistics, criterion, 1, 0)
