"""The provably best Gaussian Bayesian network of a table of data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skbn import exceptions as exceptions

if TYPE_CHECKING:
    from skbn import datasets as datasets
    from skbn._core.show_versions import show_versions
    from skbn._drawing.comparison_display import NetworkComparisonDisplay
    from skbn._drawing.edge_weights_display import EdgeWeightsDisplay
    from skbn._drawing.network_display import NetworkDisplay
    from skbn._drawing.penalty_display import PenaltyDisplay
    from skbn._drawing.residuals_display import ResidualsDisplay
    from skbn._estimators.learner import GaussianBNLearner
    from skbn._estimators.learner_cv import GaussianBNLearnerCV
    from skbn._estimators.transformer import LocalScoreTransformer
    from skbn._networks.network import GaussianBayesianNetwork
    from skbn._regressions.givens import givens_column_swap
    from skbn._regressions.swaps import greedy_swaps, seed_path
    from skbn._scores.criteria import (
        AIC,
        BIC,
        EBIC,
        BGe,
        Criterion,
        InformationCriterion,
        LogLikelihood,
    )
    from skbn._scores.local_scores import LocalScores
    from skbn._scores.parent_set_scores import ParentSetScores

__all__ = [
    "AIC",
    "BIC",
    "EBIC",
    "BGe",
    "Criterion",
    "EdgeWeightsDisplay",
    "GaussianBNLearner",
    "GaussianBNLearnerCV",
    "GaussianBayesianNetwork",
    "InformationCriterion",
    "LocalScoreTransformer",
    "LocalScores",
    "LogLikelihood",
    "NetworkComparisonDisplay",
    "NetworkDisplay",
    "ParentSetScores",
    "PenaltyDisplay",
    "ResidualsDisplay",
    "givens_column_swap",
    "greedy_swaps",
    "seed_path",
    "show_versions",
]
__version__ = "0.1.0.dev0"

# Imported when they are first asked for: numba and scikit-learn take more than a second.
_MODULES = {
    "ParentSetScores": "skbn._scores.parent_set_scores",
    "InformationCriterion": "skbn._scores.criteria",
    "Criterion": "skbn._scores.criteria",
    "LogLikelihood": "skbn._scores.criteria",
    "BGe": "skbn._scores.criteria",
    "EBIC": "skbn._scores.criteria",
    "BIC": "skbn._scores.criteria",
    "AIC": "skbn._scores.criteria",
    "GaussianBNLearner": "skbn._estimators.learner",
    "GaussianBNLearnerCV": "skbn._estimators.learner_cv",
    "GaussianBayesianNetwork": "skbn._networks.network",
    "LocalScoreTransformer": "skbn._estimators.transformer",
    "LocalScores": "skbn._scores.local_scores",
    "EdgeWeightsDisplay": "skbn._drawing.edge_weights_display",
    "NetworkComparisonDisplay": "skbn._drawing.comparison_display",
    "NetworkDisplay": "skbn._drawing.network_display",
    "PenaltyDisplay": "skbn._drawing.penalty_display",
    "ResidualsDisplay": "skbn._drawing.residuals_display",
    "givens_column_swap": "skbn._regressions.givens",
    "greedy_swaps": "skbn._regressions.swaps",
    "seed_path": "skbn._regressions.swaps",
    "show_versions": "skbn._core.show_versions",
}
_SUBMODULES = ("datasets", "exceptions")


if not TYPE_CHECKING:  # type checkers would take any name for one of the library

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return import_module(f"skbn.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(import_module(_MODULES[name]), name)
        return globals()[name]


def __dir__() -> list[str]:
    return sorted(
        {*__all__, *_SUBMODULES, *(name for name in globals() if name[:2] == name[-2:] == "__")}
    )
