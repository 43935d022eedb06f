"""The provably best Gaussian Bayesian network of a table of data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skbn import exceptions as exceptions

if TYPE_CHECKING:
    from skbn import datasets as datasets
    from skbn._drawing._comparison_display import NetworkComparisonDisplay
    from skbn._drawing._edge_weights_display import EdgeWeightsDisplay
    from skbn._drawing._network_display import NetworkDisplay
    from skbn._drawing._penalty_display import PenaltyDisplay
    from skbn._drawing._residuals_display import ResidualsDisplay
    from skbn._estimators._learner import GaussianBNLearner
    from skbn._estimators._learner_cv import GaussianBNLearnerCV
    from skbn._estimators._transformer import LocalScoreTransformer
    from skbn._networks._network import GaussianBayesianNetwork
    from skbn._regressions._givens import givens_column_swap
    from skbn._regressions._swaps import greedy_swaps, seed_path
    from skbn._scores._criteria import AIC, BIC, EBIC, BGe, LogLikelihood
    from skbn._scores._criterion import Criterion, InformationCriterion
    from skbn._scores._local_scores import LocalScores
    from skbn._scores._parent_set_scores import ParentSetScores
    from skbn._show_versions import show_versions

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
    "ParentSetScores": "skbn._scores._parent_set_scores",
    "InformationCriterion": "skbn._scores._criterion",
    "Criterion": "skbn._scores._criterion",
    "LogLikelihood": "skbn._scores._criteria",
    "BGe": "skbn._scores._criteria",
    "EBIC": "skbn._scores._criteria",
    "BIC": "skbn._scores._criteria",
    "AIC": "skbn._scores._criteria",
    "GaussianBNLearner": "skbn._estimators._learner",
    "GaussianBNLearnerCV": "skbn._estimators._learner_cv",
    "GaussianBayesianNetwork": "skbn._networks._network",
    "LocalScoreTransformer": "skbn._estimators._transformer",
    "LocalScores": "skbn._scores._local_scores",
    "EdgeWeightsDisplay": "skbn._drawing._edge_weights_display",
    "NetworkComparisonDisplay": "skbn._drawing._comparison_display",
    "NetworkDisplay": "skbn._drawing._network_display",
    "PenaltyDisplay": "skbn._drawing._penalty_display",
    "ResidualsDisplay": "skbn._drawing._residuals_display",
    "givens_column_swap": "skbn._regressions._givens",
    "greedy_swaps": "skbn._regressions._swaps",
    "seed_path": "skbn._regressions._swaps",
    "show_versions": "skbn._show_versions",
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
