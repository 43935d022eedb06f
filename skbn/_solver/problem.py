"""Problem: scores and constraints, of which engines and sums ask what they need.

What plans a search needs no scores, but only their `Shape`, which can be changed to see whether
another problem would fit in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.exact_sums import upper_sum
from skbn._core.graphs import Dag
from skbn._core.resources import IsOver, Progress, one_blas_thread
from skbn._core.subsets import mask_of, members_of
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._networks.equivalence import canonical_member, told_apart
from skbn._networks.gaussian import LinearGaussianModel, estimate_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._networks.targets import Targets
from skbn._regressions.least_squares import solve_triangular
from skbn._regressions.set_function import SCORE_ACCURACY
from skbn._scores.criteria import is_score_equivalent
from skbn._scores.families import Families, ScoredParentSets
from skbn._scores.local_scores import LocalScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver import candidate_families
from skbn._solver.certificate import EdgeChanges, certify_network, certify_score, polished
from skbn._solver.constraints import Constraints
from skbn._solver.orientation import best_directions

# In nats. Smaller differences between networks are of the size of rounding.
TOLERANCE = 1e-6


class Found(NamedTuple):
    """The best network that a search found: in a group of columns, then in all, then certified."""

    # the mask of each column's parents. Empty without any network of a finite score.
    parents: list[int]
    # in nats; -inf without any network of a finite score. Until it is certified, as the search adds
    # it up, without the scores' `score_offsets`.
    score: float
    # no network within the constraints scores higher by more than this, in nats; infinite if
    # nothing is proven. It is about the networks: the score may be rounded by more.
    gap: float
    rounding: float = 0.0  # in nats: rounding error of the search that is not included in `gap`
    # how many perturbed orders an order search started from again; 0 for an exact search
    n_iter: int = 0
    n_nodes: int = 0  # how many nodes the trees of branch and cut have
    # why a search ended without a proof, in a sentence. Empty if it ended by itself: if its network
    # is not optimal then, rounding hides more than the tolerance
    why_ended: str = ""
    # whether no change of a single edge is known to better the network: there was time to look
    is_settled: bool = True
    # for each start of an order search, how many nats its network scores below the best one,
    # ascending from 0; None for an exact search
    start_losses: tuple[float, ...] | None = None
    # Once it is certified:
    is_optimal: bool = False  # whether the gap is within the tolerance
    # a score that no network within the constraints exceeds; infinite if none is known
    score_bound: float = math.inf
    network: GaussianBayesianNetwork = None  # type: ignore[assignment]
    # its parameters, by columns; None for listed scores and for the sum of several tables' scores
    model: LinearGaussianModel | None = None
    targets: Targets | None = None  # what environments changed, if that was unknown
    em: Any = None  # what structural EM tells of itself: an `EMRecord`; None without missing values


class Shape(NamedTuple):
    """How large a problem is, which says what its search takes."""

    families: Families  # those that have scores
    constraints: Constraints
    n_bytes: int = 0  # memory that the scores take already
    # whether all columns together are known to be linearly independent
    is_independent: bool = False
    # 1 if one set function serves families and parents, else 2; see `SetWeights`
    n_functions: int = 1
    n_row_groups: int = 1  # how many groups of columns have rows, and so functions, of their own
    # (3, m): the criterion's, over the numbers of columns; with interventions, those for the first
    # child
    tables: Floats | None = None
    # how many walks through all sets of columns the scores take: more than one if targets are
    # unknown
    n_walks: int = 1


class Problem:
    """The scores of a table, or of several, and constraints on networks of its columns.

    Columns are numbers here, and sets of them masks. `ListedProblem` has listed scores instead.

    `score_offsets`: (m,), what all local scores of each child have in common, in nats; a search
        leaves it out
    `listed_offsets`: (m,), the part of it that the scores of `listed` have
    `may_be_likelihoods`: whether the exponentials of scores may be marginal likelihoods, so that
        differences of scores are Bayes factors
    `is_score_equivalent`: whether all members of an equivalence class have one score
    """

    scores: Any  # the LocalScores, or others
    constraints: Constraints
    families: Families
    # what scores a table's families by regressions; a list has none
    scorer: FamilyScorer
    # the masks of the columns that an experimenter set together, each once
    targets: Sequence[int] = ()
    # networks whose scores differ by no more may be taken for equally good, in nats
    tie: float = 0.0
    # whether it is known before the search which networks are equivalent
    has_classes: bool = True
    # What the last climb ended with: certifying its network needs the same regressions.
    _climbed: EdgeChanges | None = None

    def __init__(self, scores: LocalScores, constraints: Constraints) -> None:
        self.scores = scores
        self.constraints = constraints
        self.scorer = scores.scorer
        self.families = self.scorer.families
        self.targets = self.scorer.targets

    def known(self, parents: Sequence[int]) -> Problem:
        """Return the problem whose rows count for each column in a network: this one."""
        return self

    @property
    def names(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""
        return self.scores.columns

    # The columns, where there is a scorer

    @property
    def nodes(self) -> Nodes:
        """Which columns stand for each node."""
        return self.scorer.nodes

    @property
    def has_complexity(self) -> bool:
        """Whether the criterion has a complexity term that is not always 0."""
        return self.scorer.has_complexity

    def kept(self, rows: Floats) -> Floats:
        """Return the columns of the regressions, from all of the sample's."""
        return self.scorer.kept(rows)

    def read(self) -> Shape:
        """Compute what a search needs of the rows; return how large the problem is."""
        scorers = self.scorer.read()
        m, most = self.families.m, self.families.max_parents
        return Shape(
            self.families,
            self.constraints,
            self.scorer.n_bytes,
            not self.families.are_listed or all(each.statistics.is_checked for each in scorers),
            max(each.weights_of(range(m), most).n_functions for each in scorers),
            # A sum's parts are in memory while they are added up.
            len(scorers) + self.scorer.is_sum,
            self.scorer.column_tables,
        )

    @property
    def score_offsets(self) -> Floats:
        """What all local scores of each child have in common; 0 for exogenous columns."""
        return self._of_modelled(self.scorer.score_offsets)

    @property
    def listed_offsets(self) -> Floats:
        """The part of `score_offsets` that the scores of `listed` have."""
        return np.zeros(self.families.m)

    @property
    def may_be_likelihoods(self) -> bool:
        """Whether the exponentials of scores may be marginal likelihoods."""
        return self.scorer.criterion.marginal_likelihood != "none"

    @property
    def is_score_equivalent(self) -> bool:
        """Whether all members of an equivalence class have one score."""
        return is_score_equivalent(self.scorer.tables)

    @property
    def has_model(self) -> bool:
        """Whether networks have parameters: each of several tables has its own."""
        return not self.scorer.is_sum

    def explained(self) -> float | None:
        """Return the median share of a column's variance that all other nodes explain.

        None if it is not known, as without a table or with fewer rows than columns.
        """
        shares: list[float] = []
        for nodes, scorer in self.scorer.row_groups if self.has_model else []:
            if not scorer.statistics.is_checked:
                return None
            factor, columns = scorer.statistics.factor, scorer.nodes.columns_of(nodes)
            rows = solve_triangular(factor, np.eye(len(factor))[:, columns], transposed=True)
            ends = np.cumsum([scorer.nodes.widths[x] for x in nodes])
            for own in np.split(rows, ends[:-1], axis=1):
                # What the others leave of a node is the inverse of its block of the inverse.
                shares += (1 - np.diag(np.linalg.inv(own.T @ own))).tolist()
        return float(np.median(shares)) if shares else None

    def correlations(self, nodes: Sequence[int]) -> tuple[Floats, Integers] | None:
        """Return about how the columns of some nodes are correlated; None without a table.

        Last comes where the columns of each node begin, with one more at the end. Of several groups
        of rows it is the mean.
        """
        own = {id(each): each for x in nodes for each in self.scorer.scorers_of(x)}
        mean = np.mean([each.correlations(nodes) for each in own.values()], axis=0)
        return mean, np.cumsum([0, *(self.nodes.widths[x] for x in nodes)])

    @property
    def any_member(self) -> bool:
        """Whether any member of an equivalence class may stand for it."""
        is_known = self.has_classes and not self.targets
        return is_known and self.is_score_equivalent and self.constraints.is_free

    @property
    def told_apart(self) -> list[int]:
        """The masks of the columns that experiments tell apart from each.

        An edge between two such columns has its direction in the whole equivalence class.
        """
        return told_apart(self.targets, len(self.names))

    def with_penalties(self, penalties: Sequence[float]) -> Sequence[Self]:
        """Return the problem for each of some penalties; they share their log-determinants."""
        scores = [self.scores.with_penalty(penalty) for penalty in penalties]
        return [type(self)(each, self.constraints) for each in scores]

    def of_sample(self, sample: Sample, n_jobs: int | None = None) -> Self:
        """Return the problem of other rows of the same columns."""
        return type(self)(self.scores._with_sample(sample, n_jobs), self.constraints)

    def without_rows(self) -> Self:
        """Return the problem as it is kept after a fit: without rows and log-determinants."""
        return type(self)(self.scores._of_rows(Sample.without_rows), self.constraints)

    def prepare(self, progress: Progress) -> None:
        """Compute what the scores of listed families need, and advance the progress by it."""
        self.scorer.prepare(progress)

    @property
    def scope(self) -> str:
        """Say which networks a proof is about, as in "the best over all networks"."""
        limit = self.constraints.max_parents
        scope = "over all networks"
        if self.families.are_given:
            scope = "among networks of listed families"
        elif limit < len(self.names) - 1:
            scope = f"among networks of at most {limit} parent{'s' * (limit != 1)}"
        return scope if self.constraints.is_free else f"{scope} within the constraints"

    # Families

    def listed(self, child: int, *, with_dominated: bool = False) -> ScoredParentSets:
        """Return the families of a child that may be part of the best network, or of any.

        Those of a list may always be part of any; their scores are as they are given, so that none
        is rounded.
        """
        limits = self.constraints.limits_of(child)
        if not limits.required and not limits.candidates:
            terms = self.scorer.terms(child, [])
            return np.empty((1, 0), dtype=np.int16), np.array([sum(terms)])
        parents, local = self.scorer.listed(limits, with_dominated)
        fits = (parents >= 0).sum(axis=1) <= self.constraints.max_parents
        return parents[fits], local[fits]

    def families_of(self, child: int, *, with_dominated: bool = False) -> ScoredParentSets:
        """Return the same families; their scores lack the child's offset."""
        parents, local = self.listed(child, with_dominated=with_dominated)
        return parents, local - self.listed_offsets[child]

    def local_scores(self, columns: Sequence[int], parents: Sequence[int]) -> Floats:
        """Return the local scores of columns with these parents, as `listed` has them."""
        terms = self.scorer.terms
        return np.array(
            [sum(terms(x, members_of(mask))) for x, mask in zip(columns, parents, strict=True)]
        )

    def largest_term(self, child: int, parents: list[int]) -> float:
        """Return the largest magnitude of a number that enters this local score."""
        return self.scorer.largest_term(child, parents)

    def largest_named(self, columns: Sequence[int], parents: Sequence[int]) -> str:
        """Return a sentence that names the largest number in these scores, if it has a name."""
        return ""

    def order_families(
        self, order: list[int], n_others: int, is_over: IsOver = bool
    ) -> candidate_families.OrderFamilies:
        """Return what an order search of columns begins with: families that grow meanwhile.

        `order`: the others, which have no parents here, and then the columns of the search
        `is_over`: whether further columns are to get only the family of required parents
        """
        if self.scorer.is_plain:
            return candidate_families.grown_families(self.scorer, self.constraints, order, n_others)
        given = self.scorer, self.constraints, order, n_others
        return candidate_families.CandidateGrowth(*given).families(is_over)

    # Networks

    def network_terms(self, parents: Sequence[int]) -> Floats:
        """Return the terms of each column's local score, shape (k, m), the offsets last.

        Exogenous columns have no score: their terms are 0.
        """
        return self._of_modelled(self.scorer.network_terms(parents))

    def irreversible(self, parents: list[int]) -> list[int]:
        """Return the masks of each column's parents whose edges no member of the class reverses.

        Those that follow from the rest of the network are not among them.
        """
        known = self.constraints.irreversible(parents)
        if not self.targets:
            return known
        return [
            of_column | mask & apart
            for of_column, mask, apart in zip(known, parents, self.told_apart, strict=True)
        ]

    def allowed_in_class(self, parents: Sequence[int]) -> list[int]:
        """Return the masks of the parents that members of a network's class may have."""
        allowed = [*self.constraints.allowed]
        for x, (mask, apart) in enumerate(zip(parents, self.told_apart, strict=True)):
            for parent in members_of(mask & apart):
                allowed[parent] &= ~(1 << x)
        return allowed

    def score_of(self, columns: Sequence[int], parents: Sequence[int]) -> float:
        """Return the sum of the columns' local scores in a network, without their offsets."""
        *terms, _ = self.network_terms(parents)
        return float(sum(terms)[list(columns)].sum())

    def gap_of_rounding(
        self, columns: Sequence[int], parents: Sequence[int], score: float, rounding: float
    ) -> tuple[float, float]:
        """Return how far another network may be above one that a dynamic program found.

        `score`: as the search added it up
        `rounding`: how far the rounding of its sums may put it off

        Returns `gap`, `rounding`: without the rounding, and by it alone; in nats.
        """
        return 0.0, rounding

    def climbed(
        self, columns: Sequence[int], parents: list[int], is_over: IsOver = bool
    ) -> list[int]:
        """Return a network that no change of a single edge or listed family betters.

        Only the parents of some columns are changed; the network is of all columns. It is the best
        so far when `is_over` says so.
        """
        constraints, own = self.constraints, mask_of(columns)
        if mask_of(constraints.modelled) & ~own:  # other columns are left as they are
            allowed, required = [
                [mask if own >> x & 1 else 0 for x, mask in enumerate(each)]
                for each in (constraints.allowed, constraints.required)
            ]
            constraints = constraints._replace(allowed=allowed, required=required)
        with one_blas_thread():
            any_member = self.any_member and constraints.is_free
            self._climbed = polished(self.scorer, constraints, parents, any_member, is_over)
        return self._climbed.parents

    def certified(self, found: Found) -> Found:
        """Return what was found with its network and score, if regressions of their own confirm it.

        Raises RuntimeError if independent regressions do not confirm the result of the search.
        """
        parents = canonical_member(found.parents) if self.any_member else found.parents
        score = certify_score(self.network_terms(parents), found.score)
        tables = [self]
        if not self.has_model:
            tables = [type(self)(table, self.constraints) for table in self.scores._summands]
        models = [table.model(parents) for table in tables]
        coefs = [model.coef for model in models]
        losses = certify_network(
            self.scores, self.constraints, parents, coefs, found.is_settled, self._last_climb()
        )
        return self._confirmed(found, parents, score, losses, models[0] if self.has_model else None)

    def _last_climb(self) -> EdgeChanges | None:
        """Return what the last climb ended with, once."""
        climbed, self._climbed = self._climbed, None
        return climbed

    def averaged_network(
        self,
        shares: Floats,
        is_joined: Booleans,
        attributes: tuple[str, str],
        *,
        log_odds: Floats | None = None,
        is_observed: bool = True,
    ) -> GaussianBayesianNetwork:
        """Return the best network of given pairs, with what is known of them as edge attributes.

        `shares`: (m, m), how probable, or how frequent, the edge i -> j is
        `attributes`: the names of the share of an edge, and of that of its pair in either direction
        `is_observed`: as for `network`
        `is_joined`: (m, m); `log_odds`: (m, m)
        """
        either = np.minimum(shares + shares.T, 1.0)
        joined = np.argwhere(np.triu(is_joined, 1))
        strongest = np.argsort(-either[tuple(joined.T)], kind="stable")
        pairs = [(a, b) for a, b in joined[strongest].tolist()]
        if len({*joined.ravel()}) == 2 * len(pairs) and self.any_member and log_odds is None:
            # Either way of a pair on its own has the same score.
            parents, is_best = [0] * len(shares), True
            for a, b in pairs:
                child, parent = (a, b) if shares[b, a] > shares[a, b] else (b, a)
                parents[child] = 1 << parent
        else:
            parents, is_best = self.best_directions(pairs, shares, log_odds)
        notes = dict(zip(attributes, (shares.copy(), either), strict=True))
        directions = "" if is_best else "by a local search"
        return self.network(parents, is_observed)._with_notes(directions, **notes)

    def best_directions(
        self, pairs: Sequence[tuple[int, int]], shares: Floats, log_odds: Floats | None = None
    ) -> tuple[list[int], bool]:
        """Return the best network that joins given pairs, and whether it is known to be the best.

        See `orientation.best_directions`.
        """
        return best_directions(self.scorer, self.constraints, pairs, shares, log_odds)

    def network(
        self,
        parents: list[int],
        is_observed: bool = True,
        losses: Floats | None = None,
        model: LinearGaussianModel | None = None,
    ) -> GaussianBayesianNetwork:
        """Return a network, with parameters if there is one table to estimate them from.

        Their standard errors are known if the table `is_observed`, and not expected or imputed.

        `losses`: (m, m), at [i, j] by how many nats the score is lower without the edge i -> j, as
            `GaussianBayesianNetwork.to_frame` defines it; NaN without an edge
        `model`: the parameters, if they are known already
        """
        if not self.has_model:
            outside = (*members_of(self.constraints.exogenous),)
            graph = Dag(self.names, parents, self.irreversible(parents), outside)
            return GaussianBayesianNetwork._of(graph, None, None, losses)
        if model is None:
            with one_blas_thread():
                model = self.model(parents)
        kept = losses, self.scorer.group_statistics if is_observed else None
        return GaussianBayesianNetwork._from_model(model, self.scorer.nodes, *kept)

    def model(self, parents: list[int]) -> LinearGaussianModel:
        """Return the columns' network with parameters, from the masks of the nodes' parents.

        Each node has the parameters of the rows that count for it.
        """
        scorer, known, exogenous = self.scorer, self.scorer.nodes, self.constraints.exogenous
        return estimate_model(
            scorer.group_statistics,
            known.parents_of_columns(parents),
            known.column_names,
            fixed=known.parents_of_columns(self.irreversible(parents), within=False),
            exogenous=known.columns_of(members_of(exogenous)) if exogenous else [],
            divisors=[each.noise_divisors for _, each in scorer.row_groups],
        )

    def _confirmed(
        self,
        found: Found,
        parents: list[int],
        score: float,
        losses: Floats,
        model: LinearGaussianModel | None = None,
    ) -> Found:
        """Return what was found with its own score, a bound, and the network."""
        bound = upper_sum([score, found.gap]) if found.gap else score
        network = self.network(parents, losses=losses, model=model)
        return found._replace(
            parents=parents, score=score, score_bound=bound, network=network, model=model
        )

    def require_certainty(
        self, columns: Sequence[int], parents: Sequence[int], uncertainty: float
    ) -> None:
        """Raise if rounding may have hidden a better network than the one found.

        `uncertainty`: how far rounding may put the score of the network off, in nats
        """
        if uncertainty > SCORE_ACCURACY:
            raise ValueError(
                "The terms of the best network's score are so large that it is known only to "
                f"{uncertainty:.2g} nats, and not to {SCORE_ACCURACY}, which may hide a better "
                f"network.{self.largest_named(columns, parents)} If they are costs that all "
                "networks must pay, lower the penalty or the costs, and rule families out by "
                "forbidden_edges or max_parents instead. If they are likelihoods, give fewer rows, "
                "smaller sample weights or a smaller alpha_w."
            )

    def _of_modelled(self, terms: Floats) -> Floats:
        """Return terms of local scores, (..., m), with 0 for exogenous columns."""
        if self.constraints.exogenous:
            terms = terms.copy()
            terms[..., members_of(self.constraints.exogenous)] = 0.0
        return terms
