"""What a learner found, on one screen of text."""

from __future__ import annotations

from typing import Any

from skbn._core.text import first_few, text_table


def learner_summary(learner: Any, max_rows: int | None) -> str:
    """Return a few lines on a fitted learner, and the regressions of its network.

    Parameters
    ----------
    learner : NetworkLearner
        Fitted.
    max_rows : int or None
        The most regressions; by default, as many as fill a screen.
    """
    caption, _, regressions = learner.network_._text(max_rows).partition("\n")
    lines = [
        ("table", _table(learner)),
        *_experiments(learner),
        ("criterion", _criterion(learner)),
        ("score", f"{learner.network_score_:.4f} nats"),
        ("proof", _proof(learner)),
        ("network", caption.partition(" of ")[2]),
    ]
    if fit := _fit(learner.network_):
        lines.append(("fit", fit))
    title = type(learner).__name__
    return f"{title}\n{text_table(lines[1:], 'll', lines[0])}\n\n{regressions}".rstrip()


def _table(learner: Any) -> str:
    """Return how many rows and columns there are."""
    columns = f"{learner.n_features_in_} columns"
    if learner.criterion_ is None:
        return f"{columns}; scores of parent sets, without rows"
    scores = learner._searched_.scores
    n_rows, n_samples = scores.sample.shape[0], scores.sample.summary.n_samples
    weights = "" if n_samples == n_rows else f" whose weights sum to {n_samples:g}"
    n_together = getattr(learner, "n_effective_", None)
    holes = f", missing values; n_effective_ = {n_together:g}" if n_together is not None else ""
    return f"{n_rows} rows{weights}, {columns}{holes}"


def _experiments(learner: Any) -> list[tuple[str, str]]:
    """Return a line on the columns that an experimenter set, if there are any."""
    names = {name: None for target in getattr(learner, "targets_", []) for name in target}
    return [("set", f"{first_few(names)} in some rows")] if names else []


def _criterion(learner: Any) -> str:
    if learner.criterion_ is None:
        return "that of the scores"
    scores = learner._searched_.scores
    penalty = f", penalty {scores.penalty:g}" if scores.penalty != 1 else ""
    return f"{learner.criterion_}{penalty}"


def _proof(learner: Any) -> str:
    """Return what is known of the optimality of the network."""
    if not learner.is_optimal_:
        return str(learner._shown_note())
    gap = learner.optimality_gap_
    by_more = f" by more than {gap:.1g} nats" if gap else ""
    return f"Proven {learner._searched_.scope}: none has a higher score{by_more}."


def _fit(network: Any) -> str | None:
    """Return the usual indices of fit, or None if the rows of the fit are not known."""
    try:
        found = network.fit_indices()
    except ValueError:  # also if there is no saturated model, as with few rows
        return None
    p_value = f", p = {found.p_value:.3g}" if found.df else ""
    return (
        f"chi2 {found.chi2:.4g} with {found.df} df{p_value}; CFI {found.cfi:.3f}, RMSEA "
        f"{found.rmsea:.3f} ({found.rmsea_low:.3f} to {found.rmsea_high:.3f}), SRMR "
        f"{found.srmr:.3f}"
    )
