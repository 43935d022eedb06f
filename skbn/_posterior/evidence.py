"""Which criteria have a marginal likelihood, and how well its posterior predicts new rows."""

from __future__ import annotations

import warnings
from dataclasses import replace

from sklearn.base import clone

from skbn._core.resources import Resources
from skbn._core.text import readable_value
from skbn._data.sample import Sample
from skbn._posterior.network_posterior import NetworkPosterior, network_posterior
from skbn._scores.criteria import BGe
from skbn._scores.local_scores import LocalScores
from skbn._solver.solve import problem_of
from skbn.exceptions import ApproximateEvidenceWarning

# A score of BGe is rounded by about 1e-16 times alpha_w nats: up to this limit, 1e-12.
_LARGEST_ALPHA_W = 1e4


def check_evidence(scores: LocalScores) -> None:
    """Raise unless exponentials of the scores are marginal likelihoods; warn if approximately."""
    criterion = scores.criterion
    name = type(criterion).__name__
    alpha_w = getattr(criterion, "alpha_w", None)
    if isinstance(criterion, BGe) and alpha_w is not None and alpha_w > _LARGEST_ALPHA_W:
        m = len(scores.columns)
        raise ValueError(
            f"alpha_w must be more than m + 1 = {m + 1} and at most {_LARGEST_ALPHA_W:g} for a "
            f"posterior of m = {m} columns; got {readable_value(alpha_w)}. The rounding of BGe's "
            "scores grows with it, and probabilities would lose digits. Give a smaller alpha_w."
        )
    if criterion.marginal_likelihood == "none":
        raise ValueError(
            f"criterion={readable_value(criterion)} was asked for, but the exponential of {name} "
            "is no marginal likelihood, so there are no posterior probabilities. Use "
            "criterion='bge', or 'bic' for an approximation."
        )
    if scores.penalty != 1:
        raise ValueError(
            f"The LocalScores were made with penalty={scores.penalty}; the exponential of {name} "
            "is a marginal likelihood with penalty=1 only. Make them with penalty=1."
        )
    if criterion.marginal_likelihood == "approximate":
        warnings.warn(
            f"The probabilities are exact sums over all networks, but {name} only approximates "
            "each network's marginal likelihood. Use criterion='bge' for exact ones.",
            ApproximateEvidenceWarning,
            stacklevel=6,
        )


def mean_log_predictive_density(
    fitted: NetworkPosterior, scores: LocalScores, sample: Sample, resources: Resources
) -> float:
    """Return the mean log posterior predictive density of new rows, in nats.

    It is the evidence of all rows divided by that of the fitted ones.

    Parameters
    ----------
    fitted : NetworkPosterior
    scores : LocalScores
        Those of the fitted rows.
    sample : Sample
        The new rows.
    resources : Resources

    Raises
    ------
    ValueError
        If the criterion is not `BGe`.
    """
    criterion = scores.scorer.criterion
    if not isinstance(criterion, BGe):
        raise ValueError(
            f"The posterior predictive density is known for criterion='bge' only; "
            f"{type(criterion).__name__} is no density of rows. Fit with BGe."
        )
    # By default the prior mean is that of the rows; it must not change with the new ones.
    nu = scores.sample.summary.column_means if criterion.nu is None else criterion.nu
    both = LocalScores(
        Sample.of_summary(scores.sample.summary.merge(sample.summary), scores.sample.nodes),
        clone(criterion).set_params(nu=nu),
        getattr(scores, "feature_names_in_", None),
        max_parents=scores.max_parents,
        n_jobs=resources.n_jobs,
    )
    of_both = network_posterior(
        problem_of(both, fitted.constraints),
        replace(resources, announce=None),
        prior=fitted.prior,
        log_odds=fitted.log_odds,
        sum_only=True,
    )
    return (of_both.log_sum - fitted.log_sum) / sample.summary.n_samples
