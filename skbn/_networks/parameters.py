"""ParametersMixin: a network's parameters, estimated or those that its graph carries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from skbn._core.graphs import check_dag, fixed_parent_masks, graph_contents
from skbn._core.linear_model import is_parametrised
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.structure import StructureMixin

__all__ = ["ParametersMixin"]


class ParametersMixin(StructureMixin):
    """The parameters, and what else is known of the graph until it is changed."""

    # What is known of the graph whose contents are `_learned_graph`.
    _estimated: LinearGaussianModel | None = None
    _score_losses: npt.NDArray[np.float64] | None = None
    _learned_graph: tuple[list[Any], list[Any]] | None = None

    @classmethod
    def _from_model(cls, model: LinearGaussianModel) -> Self:
        """Return the network with these parameters."""
        network = cls(model.to_dag())  # type: ignore[call-arg]
        network._keep(model)
        return network

    def _keep(
        self, model: LinearGaussianModel | None, score_losses: npt.NDArray[np.float64] | None = None
    ) -> None:
        """Keep what was learned of the graph, and its contents, by which a change is noticed."""
        self._estimated = model
        self._score_losses = score_losses
        self._learned_graph = graph_contents(self.dag)

    def _is_learned_graph(self) -> bool:
        """Whether the graph is still that of the estimates and the score losses."""
        return self._learned_graph == graph_contents(self.dag)

    def _parameters(self) -> LinearGaussianModel | None:
        """Return the estimates if they belong to the graph, else the graph's own, or None."""
        check_dag(self.dag)
        if self._estimated is not None and self._is_learned_graph():
            return replace(self._estimated, fixed=fixed_parent_masks(self.dag))
        return LinearGaussianModel.from_dag(self.dag) if is_parametrised(self.dag) else None

    def _model(self) -> LinearGaussianModel:
        """Return the parameters; raise a NotFittedError if there are none."""
        model = self._parameters()
        if model is None:
            raise NotFittedError(
                "This GaussianBayesianNetwork has no parameters yet. Call fit, or give the nodes "
                "of dag the attributes intercept and noise_variance and its edges weight."
            )
        return model

    @property
    def dag_(self) -> nx.DiGraph:
        """The graph with all parameters as attributes.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError, ValueError
            If `dag` is not an acyclic graph; if a parameter is missing or wrong; if a mean
            is out of float64's range.
        """
        return self._model().to_dag()

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The edges' weights, shape (m, m): ``coef_[i, j]`` is that of i -> j, or 0.

        Raises what `dag_` raises.
        """
        return self._model().coef.copy()

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """The nodes' intercepts, shape (m,).

        Raises what `dag_` raises.
        """
        return self._model().intercept.copy()

    @property
    def noise_variance_(self) -> npt.NDArray[np.float64]:
        """The variances of the nodes' noise, shape (m,).

        Raises what `dag_` raises.
        """
        return self._model().noise_variance.copy()

    @property
    def mean_(self) -> npt.NDArray[np.float64]:
        """The nodes' joint mean, shape (m,).

        Raises what `dag_` raises.
        """
        return self._model().mean.copy()

    @property
    def covariance_(self) -> npt.NDArray[np.float64]:
        """The nodes' joint covariance, shape (m, m).

        Raises what `dag_` raises, and ValueError if a variance is out of float64's range.
        """
        return self._model().covariance()
