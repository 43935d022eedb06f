"""compare_groups: whether groups of rows share a network, and where they differ.

All scores of groups add up (see `LocalScores`), so that three answers can be compared by their
evidence, or by the scores of their best networks.

Differences of edges are sought in a structure that is chosen without the labels of the rows, from
deviations from each group's own means. If all groups have one covariance, these deviations are
complete and sufficient for it, and tests of whether regressions differ between groups do not depend
on it. So they are independent of the choice (Basu 1955, "On statistics independent of a complete
sufficient statistic"), and hold as if the structure had been known. Pairs that it does not join are
tested too, as coefficients of opposite signs may cancel. The noise of the groups may have different
variances (Hsu 1938, "Contribution to the theory of Student's t-test as applied to the problem of
two samples").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit
from sklearn.base import clone

from skbn._core.arrays import Floats, Integers, level_of
from skbn._core.columns import parents_in
from skbn._core.graphs import descendants_of
from skbn._core.resources import explained
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import readable_name, readable_value
from skbn._data.containers import check_labels, frame_labels
from skbn._data.row_values import read_row_groups, without_named
from skbn._data.sample import Sample
from skbn._displays.forest_display import ForestDisplay
from skbn._displays.notebook import TableRepr, frame_of
from skbn._estimators.fitting import constraints_of, read_scores, to_fit
from skbn._estimators.learner import GaussianBNLearner
from skbn._estimators.posterior import GaussianBNPosterior
from skbn._networks.descriptions import standard_errors
from skbn._networks.estimation import errors_by_em
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.network_posterior import NetworkPosterior
from skbn._regressions.set_function import SCORE_ACCURACY
from skbn._scores.criteria import BIC, BGe
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints
from skbn._solver.problem import Problem

_ANSWERS = "one network", "one structure", "own structures"


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison(TableRepr):
    """What `compare_groups` found: three answers, and the differences of coefficients.

    Parameters
    ----------
    groups : list of hashable
        The groups' labels.
    n_rows : dict of label to int
    answers : dict of str to float
        For "one network", "one structure" and "own structures", the log evidence of the rows, or
        the scores of the best networks, in nats.
    kind : {"log evidence", "score"}
        Which of the two.
    structure : GaussianBayesianNetwork
        The best network of all rows, as deviations from the means of their groups.
    networks : dict of label to GaussianBayesianNetwork
        This structure with the parameters of each group, by least squares. Groups whose rows are
        too few or too alike for that are left out, and have no differences.
    level : float
        The probability with which *all* intervals hold.
    n_tests : int
        How many differences the intervals and p-values are corrected for: one for each edge that
        the structure might have, in both directions, and each pair of groups.
    columns : dict of str to list
        The columns of `to_frame`.
    units : ndarray of shape (n_differences,)
        The parents' standard deviations by the children's, in which differences are drawn.

    See Also
    --------
    compare_groups : Makes this, with an example.
    """

    groups: list[Hashable]
    n_rows: dict[Hashable, int]
    answers: dict[str, float]
    kind: str
    structure: GaussianBayesianNetwork
    networks: dict[Hashable, GaussianBayesianNetwork]
    level: float
    n_tests: int
    columns: Mapping[str, Any]
    units: Floats
    _alignments = "lrr"

    def to_frame(self) -> Any:
        """Return a table with a row for each edge of `structure`, and each pair of groups.

        Pairs that it does not join are among them if their coefficients differ.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            Those that differ most surely come first. Its columns are

            - `parent`, `child`, `is_edge`, `group` and `other`: the pair, and the two groups;
            - `joined`, `joined_in_group` and `joined_in_other`: the probability that some edge
              joins the two columns, in one structure of all groups and in one of each group's own.
              They are left out if the estimator is no posterior;
            - `weight` and `other_weight`: the coefficients of the two groups;
            - `difference`, `low` and `high`: the first less the second, with its interval. All
              intervals together hold with the probability `level`;
            - `p_value`: of no difference, multiplied by `n_tests`;
            - `differs`: whether the interval leaves out 0.

            Edges of nodes of several columns have no single coefficient: their numbers are NaN, as
            are those of groups that are not among `networks`.
        """
        return frame_of(self.columns)

    def plot(self, *, ax: Any = None) -> ForestDisplay:
        """Draw the differences with their intervals; differences beyond chance are coloured.

        They are in standard deviations of the child for one of the parent, over all rows.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ForestDisplay

        Raises
        ------
        ValueError
            If there is no difference to draw.
        """
        table, is_known = self.columns, ~np.isnan(self.columns["difference"])
        if not is_known.any():
            raise ValueError(
                "There are no differences to draw: the structure has no edges between single "
                "columns, or fewer than two groups have rows enough for coefficients."
            )
        pairs = zip(table["group"], table["other"], strict=True)
        edges = zip(table["parent"], table["child"], strict=True)
        labels = [f"{p} → {c}" for p, c in edges]
        if len(self.groups) > 2:
            labels = [f"{e}: {a} - {b}" for e, (a, b) in zip(labels, pairs, strict=True)]
        drawn = [table[name] * self.units for name in ("difference", "low", "high")]
        between = f", {self.groups[0]} - {self.groups[1]}" if len(self.groups) == 2 else ""
        display = ForestDisplay(
            [label for label, known in zip(labels, is_known, strict=True) if known],
            *(each[is_known] for each in drawn),
            marked=table["differs"][is_known],
            xlabel=f"standardised difference{between}",
        )
        return display.plot(ax=ax)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self._note()}"

    def _repr_html_(self) -> str | None:
        html = super()._repr_html_()
        return None if html is None else f"{html}<p>{self._note()}</p>"

    def _caption(self) -> str:
        rows = ", ".join(f"{readable_name(g)} ({n} rows)" for g, n in self.n_rows.items())
        return f"Comparison of {len(self.groups)} groups: {rows}"

    @property
    def _header(self) -> list[str]:  # type: ignore[override]
        return ["", self.kind, "below the best"]

    def _rows(self) -> list[tuple[str, str, str]]:
        best = max(self.answers.values())
        return [(name, f"{x:.1f}", f"{best - x:.1f}") for name, x in self.answers.items()]

    def _note(self) -> str:
        differs = self.columns["differs"]
        few = ", ".join(readable_name(g) for g in self.groups if g not in self.networks)
        n_known = int(np.isfinite(self.columns["difference"]).sum())
        without = f"; none are known of {few}, whose rows are too few or too alike" * bool(few)
        return (
            f"{int(differs.sum())} of {n_known} differences of coefficients are beyond chance "
            f"at the level {self.level:g}, corrected for {self.n_tests} tests{without}"
        )


def compare_groups(
    X: Any, groups: Any, estimator: Any = None, *, interventions: Any = None, level: float = 0.95
) -> GroupComparison:
    """Ask whether groups of rows share a network, and which coefficients differ.

    Three answers are compared: all rows come from one network; the groups share the structure, and
    each has its own parameters; each group has a structure of its own, too.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features), or LocalScores
        The rows of all groups. Values may be missing for a learner with ``missing="em"``.
    groups : array-like of shape (n_samples,) or str
        The label of each row, or the name of a data frame's column that has them. A pandas Series
        is matched by its labels; categories keep their order.
    estimator : GaussianBNPosterior or GaussianBNLearner, optional
        Not fitted. A posterior compares the evidence, summed over all networks, and a learner the
        scores of the best networks, for more columns. By default ``GaussianBNPosterior("bge")``.
        For `BGe` with ``nu=None`` the columns of a table are standardised, and the prior means of
        each group are the means of all rows.
    interventions : data frame or array-like of bool, or sequence of length n_samples, optional
        Which columns an experimenter set in each row, as in `GaussianBNLearner.fit`.
    level : float, default=0.95
        The probability with which the intervals of all differences hold together, from 0 to 1.

    Returns
    -------
    comparison : GroupComparison
        Its `answers` and `to_frame` are the results, and `plot` draws the differences.

    Raises
    ------
    ValueError, TypeError
        If there are not two groups or more, or not a label for each row; if the rows of a group do
        not suit the estimator, naming the group; as `fit` of the estimator.

    See Also
    --------
    GaussianBayesianNetwork.compare : Two networks, edge by edge.
    LocalScores : The sum of several tables' scores is that of one structure.

    Notes
    -----
    Groups that differ only in their means count as different. If that is not the question, subtract
    the means of each group first.

    The tests are of coefficients of least squares, where groups may have noise of different
    variances: the difference divided by its standard error has at least as many degrees of freedom
    as the smaller of the two (Hsu 1938). The structure is chosen without the labels of the rows, so
    that the choice does not favour edges that differ by chance. Each edge that it lacks is tested
    as well, added to the child's parents, unless it would close a cycle. Bonferroni's correction is
    for all edges that there might be.

    With missing values, the one structure is found by structural EM over all groups, and only its
    edges are tested, by the observed information of each group. With interventions, the structure
    is chosen from deviations from the means of rows in which nothing was set, if a group has some.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import compare_groups
    >>> wine = load_wine(as_frame=True)
    >>> columns = ["alcohol", "color_intensity", "flavanoids", "hue", "proline"]
    >>> is_chosen = wine.target > 0
    >>> comparison = compare_groups(wine.data.loc[is_chosen, columns], wine.target[is_chosen])
    >>> comparison
    Comparison of 2 groups: 1 (71 rows), 2 (48 rows)
                    log evidence  below the best
    one network           -795.9           146.0
    one structure         -649.9             0.0
    own structures        -652.5             2.6
    1 of 5 differences of coefficients are beyond chance at the level 0.95, corrected for 20 tests
    >>> frame = comparison.to_frame()
    >>> frame[["parent", "child", "weight", "other_weight", "low", "high"]].head(3).round(2)
                parent            child  weight  other_weight   low   high
    0              hue  color_intensity   -0.12        -11.48  3.34  19.39
    1  color_intensity       flavanoids    0.29          0.05 -0.04   0.52
    2              hue          alcohol    0.01          1.13 -3.77   1.54
    """
    if not isinstance(estimator, GaussianBNLearner | GaussianBNPosterior | None):
        raise TypeError(
            "estimator must be a GaussianBNPosterior or a GaussianBNLearner; got "
            f"{readable_value(estimator)}."
        )
    given = to_fit("compare_groups", estimator, GaussianBNPosterior())
    level = level_of(level)
    labels = frame_labels(X) if isinstance(groups, str | list | tuple) else None
    if labels is not None:
        check_labels(labels, X)
        X, groups = without_named(X, labels, groups, "groups")
    table = read_scores(given, X, interventions=interventions, needs_rows=True)
    takes_holes = isinstance(given, GaussianBNLearner)
    if not isinstance(table, LocalScores) or not (table.sample.is_complete or takes_holes):
        raise ValueError(
            "compare_groups needs the rows of one table, without missing values. Complete it "
            'first, by GaussianBNImputer for example, or pass GaussianBNLearner(missing="em").'
        )
    has_holes = not table.sample.is_complete
    rows = _rows_of_groups(groups, table.sample)
    scores = table
    if X is not table and isinstance(table.criterion, BGe) and table.criterion.nu is None:
        scores = table._with_sample(_standardised(table.sample))
    scores = _with_one_prior(scores)
    given.set_params(nodes=None, criterion=None)
    of_groups = {label: scores._with_sample(scores.sample[at]) for label, at in rows.items()}
    added: Any = None if has_holes else sum(of_groups.values())

    def fitted(estimator: Any) -> tuple[Any, Any, list[Any]]:
        """Return the fits to all rows, to one structure of all groups, and to each group."""
        own = [
            _of_group(label, lambda: clone(estimator).fit(of_groups[label]))  # noqa: B023
            for label in rows
        ]
        one = clone(estimator).fit(scores)
        shared = None if has_holes else clone(estimator).fit(added)
        return one, shared, own

    fits = fitted(given)
    searched = fits if isinstance(given, GaussianBNLearner) else None
    has_evidence = searched is None and isinstance(fits[1].posterior_, NetworkPosterior)
    if searched is None and not has_evidence:
        searched = fitted(_learner_like(given))
    one, shared, own = fits if searched is None else searched
    value = "log_evidence_" if has_evidence else "network_score_"
    of_shared = _by_em(given, [*of_groups.values()], own) if has_holes else getattr(shared, value)
    answers = [getattr(one, value), of_shared, sum(getattr(each, value) for each in own)]
    learner = given if isinstance(given, GaussianBNLearner) else _learner_like(given)
    centred = _deviations(scores.sample, rows.values(), own if has_holes else None)
    deviations = _with_one_prior(scores._with_sample(centred))
    structure = clone(learner).fit(deviations).network_

    parents = [mask_of(each) for each in parents_in(structure.dag, table.columns)]
    constraints = constraints_of(given, table)
    problems: dict[Hashable, Problem | _ByEM | None] = {
        label: _ByEM.of(structure, table._with_sample(table.sample[at]))
        if has_holes
        else _least_squares(table, at, constraints, parents)
        for label, at in rows.items()
    }
    known = {label: problem for label, problem in problems.items() if problem is not None}
    n_edges = sum(mask.bit_count() for mask in constraints.allowed)
    n_tests = n_edges * len(known) * (len(known) - 1) // 2
    joined = None
    if isinstance(given, GaussianBNPosterior):
        joined = [each.edge_probabilities_ for each in (fits[1], *fits[2])]
    if has_holes:  # no other edge is tested
        constraints = constraints._replace(allowed=parents)
    columns, units = _differences(table, problems, constraints, parents, joined, level, n_tests)
    return GroupComparison(
        [*rows],
        {label: len(at) for label, at in rows.items()},
        dict(zip(_ANSWERS, map(float, answers), strict=True)),
        "log evidence" if has_evidence else "score",
        structure,
        {label: problem.network(parents) for label, problem in known.items()},
        level,
        n_tests,
        columns,
        units,
    )


def _of_group(label: Hashable, call: Callable[[], Any]) -> Any:
    """Return what is computed of a group's rows; its errors name the group."""
    return explained(call, lambda error: f"The rows of group {label!r}: {error}")


def _rows_of_groups(groups: Any, sample: Sample) -> dict[Hashable, Integers]:
    """Return the numbers of each group's rows; raise unless there are two groups or more."""
    numbers, labels = read_row_groups(groups, sample.labels, sample.shape[0], "groups")
    if len(labels) < 2:
        raise ValueError(f"There must be two groups or more; all rows are of group {labels}.")
    found = {label: np.flatnonzero(numbers == k) for k, label in enumerate(labels)}
    categories: Any = getattr(getattr(groups, "dtype", None), "categories", None)
    if hasattr(categories, "__len__"):  # polars' may be open
        labels = [label for label in categories if label in found]
    elif all(isinstance(label, type(labels[0])) for label in labels):
        labels = sorted(labels)
    return {label: found[label] for label in labels}


def _standardised(sample: Sample) -> Sample:
    """Return the rows in units of the standard deviations of all of them."""
    summary = sample.summary
    scale = np.ldexp(np.linalg.norm(summary.factor, axis=0), summary.exponent)
    unit = np.where(scale > 0, scale / np.sqrt(summary.n_samples), 1.0)
    return Sample(sample.rows / unit, sample.weight, sample.labels, sample.nodes, sample.is_set)


def _with_one_prior(scores: LocalScores) -> LocalScores:
    """Return the scores with one prior of BGe for all groups: the means of all rows."""
    criterion = scores.criterion
    if isinstance(criterion, BGe) and criterion.nu is None and scores.sample.nodes is None:
        criterion.set_params(nu=scores.sample.summary.column_means)
    return scores._with_sample(scores.sample, criterion=criterion)


def _learner_like(posterior: GaussianBNPosterior) -> GaussianBNLearner:
    """Return a learner with a posterior's settings."""
    known = GaussianBNLearner().get_params()
    learner = GaussianBNLearner(
        **{name: each for name, each in posterior.get_params().items() if name in known}
    )
    is_exact = posterior.method == "exact"
    return learner.set_params(search="exact" if is_exact else "order", missing="error")


def _deviations(sample: Sample, groups: Iterable[Integers], own: Sequence[Any] | None) -> Sample:
    """Return the rows as deviations from the means of their groups, or of their own networks."""
    rows = sample.rows.copy()
    for i, at in enumerate(groups):
        if own is not None:
            model = own[i].network_._model()
            known = dict(zip(model.nodes, model.mean, strict=True))
            rows[at] -= [known.get(name, 0.0) for name in own[i]._searched_.nodes.column_names]
            continue
        free = at if sample.is_set is None else at[~sample.is_set[at].any(axis=1)]
        rows[at] -= sample[free if len(free) else at].summary.column_means
    return Sample(
        *(rows, sample.weight, sample.labels, sample.nodes, sample.is_set), may_miss=own is not None
    )


def _by_em(learner: Any, of_groups: Sequence[LocalScores], fits: Sequence[Any]) -> float:
    """Return the score of the best structure that structural EM finds for all groups together.

    Each step searches the rows that EM expects, and scores what it finds by an EM of each group.
    """
    best = -np.inf
    while True:
        expected: Any = sum(each._searched_.scores for each in fits)
        found = clone(learner).fit(expected).dag_
        others = [pair for pair in permutations(found, 2) if not found.has_edge(*pair)]
        fixed = {"required_edges": [*found.edges], "forbidden_edges": others}
        fits = [clone(learner).set_params(**fixed).fit(each) for each in of_groups]
        score = sum(each.network_score_ for each in fits)
        if score <= best + SCORE_ACCURACY:
            return best
        best = score


@dataclass(frozen=True)
class _ByEM:
    """The parameters of a group's rows with holes, with their errors."""

    fitted: GaussianBayesianNetwork
    errors: Floats
    freedom: Floats

    @classmethod
    def of(cls, structure: GaussianBayesianNetwork, scores: LocalScores) -> _ByEM | None:
        """Fit a structure to the rows; None if they do not determine its parameters."""
        try:
            fitted = clone(structure).fit(scores)
        except ValueError:
            return None
        sample, is_set = fitted._rows_and_set(scores, None, None)
        return cls(fitted, *errors_by_em(sample, is_set, fitted._graph_of_columns()))

    def network(self, _: list[int]) -> GaussianBayesianNetwork:
        return self.fitted


def _least_squares(
    table: LocalScores, rows: Integers, constraints: Constraints, parents: list[int]
) -> Problem | None:
    """Return the problem of some rows, for least squares; None if they determine no estimates."""
    most = min(len(parents) - 1, 1 + max(mask.bit_count() for mask in parents))
    scores = table._with_sample(table.sample[rows], max_parents=most, criterion=BIC())
    problem = Problem(scores, constraints)
    try:
        problem.read()
    except ValueError:
        return None
    return problem


def _differences(
    table: LocalScores,
    problems: dict[Hashable, Problem | _ByEM | None],
    constraints: Constraints,
    parents: list[int],
    joined: list[Floats] | None,
    level: float,
    n_tests: int,
) -> tuple[dict[str, Any], Floats]:
    """Return the columns of the table of differences, and the units in which they are drawn."""
    labels, names = [*problems], table.columns
    pairs, of_groups = _coefficients([*problems.values()], constraints, parents)
    tests = [(e, i, j) for e in range(len(pairs)) for i, j in combinations(range(len(labels)), 2)]
    at, first, second = np.array(tests, dtype=int).reshape(-1, 3).T
    weight, error, freedom = of_groups[first, :, at].T
    other_weight, other_error, other_freedom = of_groups[second, :, at].T
    # The groups may have noise of different variances. With the smaller degrees of freedom
    # the test is conservative, also far out in the tails.
    std, shared = np.hypot(error, other_error), np.minimum(freedom, other_freedom)
    difference = weight - other_weight
    margin = -stdtrit(shared, (1 - level) / (2 * max(1, n_tests))) * std
    p_value = np.minimum(1.0, 2 * n_tests * stdtr(shared, -np.abs(difference / std)))
    differs = np.abs(difference) > margin
    parent, child = np.array(pairs, dtype=int).reshape(-1, 2)[at].T
    is_edge = np.array([bool(parents[c] >> p & 1) for p, c in pairs], dtype=bool)[at]
    columns: dict[str, Any] = {
        "parent": np.array([names[p] for p in parent], dtype=object),
        "child": np.array([names[c] for c in child], dtype=object),
        "is_edge": is_edge,
        "group": np.array([labels[i] for i in first], dtype=object),
        "other": np.array([labels[i] for i in second], dtype=object),
    }
    if joined is not None:
        either = np.minimum(np.array(joined) + np.array(joined).transpose(0, 2, 1), 1.0)
        columns["joined"] = either[0, parent, child]
        columns["joined_in_group"] = either[1 + first, parent, child]
        columns["joined_in_other"] = either[1 + second, parent, child]
    columns |= {
        "weight": weight,
        "other_weight": other_weight,
        "difference": difference,
        "low": difference - margin,
        "high": difference + margin,
        "p_value": p_value,
        "differs": differs,
    }
    order = np.argsort(-np.nan_to_num(np.abs(difference / std)), kind="stable")
    order = order[(is_edge | differs)[order]]
    summary, nodes = table.sample.summary, table.sample.nodes
    scale = np.ldexp(np.linalg.norm(summary.factor, axis=0), summary.exponent)
    firsts = np.arange(len(scale)) if nodes is None else np.array(nodes.starts[:-1])
    units = scale[firsts[parent]] / scale[firsts[child]]
    return {name: values[order] for name, values in columns.items()}, units[order]


def _coefficients(
    problems: Sequence[Problem | _ByEM | None], constraints: Constraints, parents: list[int]
) -> tuple[list[tuple[int, int]], Floats]:
    """Return pairs of columns, and their coefficients, errors and freedom, (n_groups, 3, n_pairs).

    The pairs are the edges, and each edge that could be added without a cycle, beside the parents
    that the child has. NaN for nodes of several columns, and for groups without a problem.
    """
    added = [
        members_of(may & ~own & ~after)
        for may, own, after in zip(
            constraints.allowed, parents, descendants_of(parents), strict=True
        )
    ]
    pairs: list[tuple[int, int]] = []
    found: list[list[Floats]] = [[] for _ in problems]
    for i in range(1 + max(map(len, added))):
        # In the first round the structure itself, and then one more parent for each column.
        more = [each[i - 1] if 0 < i <= len(each) else None for each in added]
        own = [mask if z is None else mask | 1 << z for mask, z in zip(parents, more, strict=True)]
        new = [(z, x) for x, z in enumerate(more) if z is not None]
        if i == 0:
            new = [(p, x) for x, mask in enumerate(parents) for p in members_of(mask)]
        pairs += new
        for of_group, problem in zip(found, problems, strict=True):
            of_group.append(_of_pairs(problem, own, new))
    return pairs, np.array([np.concatenate(each, axis=1) for each in found])


def _of_pairs(
    problem: Problem | _ByEM | None, parents: list[int], pairs: list[tuple[int, int]]
) -> Floats:
    """Return the coefficients of edges, their standard errors and degrees of freedom, (3, k)."""
    found = np.full((3, len(pairs)), np.nan)
    if problem is None:
        return found
    if isinstance(problem, _ByEM):
        nodes, coef = problem.fitted._blocks, problem.fitted.coef_
        errors, freedom = problem.errors, problem.freedom
    else:
        nodes, coef = problem.scorer.nodes, problem.model(parents).coef
        of_columns = nodes.parents_of_columns(parents)
        errors, freedom = standard_errors(problem.scorer.group_statistics, of_columns)
    for i, (p, x) in enumerate(pairs):
        ends = nodes.columns_of([p]), nodes.columns_of([x])
        if [len(each) for each in ends] == [1, 1]:
            (a,), (b,) = ends
            found[:, i] = coef[a, b], errors[a, b], freedom[b]
    return found
