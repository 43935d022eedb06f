# The public names, which are imported when they are first asked for.
from . import datasets as datasets
from . import exceptions as exceptions
from ._core.show_versions import show_versions as show_versions
from ._displays.comparison_display import NetworkComparisonDisplay as NetworkComparisonDisplay
from ._displays.edge_probabilities_display import (
    EdgeProbabilitiesDisplay as EdgeProbabilitiesDisplay,
)
from ._displays.edge_weights_display import EdgeWeightsDisplay as EdgeWeightsDisplay
from ._displays.network_display import NetworkDisplay as NetworkDisplay
from ._displays.penalty_display import PenaltyDisplay as PenaltyDisplay
from ._displays.residuals_display import ResidualsDisplay as ResidualsDisplay
from ._estimators.best_network import BestNetwork as BestNetwork
from ._estimators.best_network import best_network as best_network
from ._estimators.bootstrap import BootstrapBNLearner as BootstrapBNLearner
from ._estimators.imputer import GaussianBNImputer as GaussianBNImputer
from ._estimators.lagged import LaggedTable as LaggedTable
from ._estimators.lagged import lagged as lagged
from ._estimators.learner import GaussianBNLearner as GaussianBNLearner
from ._estimators.learner_cv import GaussianBNLearnerCV as GaussianBNLearnerCV
from ._estimators.markov_blanket_selector import MarkovBlanketSelector as MarkovBlanketSelector
from ._estimators.near_optimal_networks import NearOptimalNetworks as NearOptimalNetworks
from ._estimators.posterior import GaussianBNPosterior as GaussianBNPosterior
from ._estimators.transformer import LocalScoreTransformer as LocalScoreTransformer
from ._networks.block_network import GaussianBlockNetwork as GaussianBlockNetwork
from ._networks.comparison import NetworkComparison as NetworkComparison
from ._networks.distribution import GaussianDistribution as GaussianDistribution
from ._networks.fit_indices import FitIndices as FitIndices
from ._networks.network import GaussianBayesianNetwork as GaussianBayesianNetwork
from ._posterior.answers import EstimatedProbability as EstimatedProbability
from ._posterior.effects import EffectPosterior as EffectPosterior
from ._posterior.effects import TotalEffects as TotalEffects
from ._regressions.givens import givens_column_swap as givens_column_swap
from ._regressions.swaps import greedy_swaps as greedy_swaps
from ._regressions.swaps import seed_path as seed_path
from ._scores.criteria import AIC as AIC
from ._scores.criteria import BIC as BIC
from ._scores.criteria import EBIC as EBIC
from ._scores.criteria import BGe as BGe
from ._scores.criteria import Criterion as Criterion
from ._scores.criteria import InformationCriterion as InformationCriterion
from ._scores.criteria import LogLikelihood as LogLikelihood
from ._scores.local_scores import LocalScores as LocalScores
from ._scores.parent_set_scores import ParentSetScores as ParentSetScores
from .compile import compile_kernels as compile_kernels

__version__: str
