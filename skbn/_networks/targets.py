"""Targets: which mechanisms each environment changed, as a learner found them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.text import first_few, readable_value
from skbn._displays.network_display import NetworkDisplay
from skbn._displays.notebook import TableRepr, frame_of
from skbn._networks.network import GaussianBayesianNetwork


class Targets(TableRepr, Mapping[Hashable, tuple[Hashable, ...]]):
    """Which nodes have another mechanism in each environment than in the reference.

    It maps each environment but the reference to a tuple of nodes. A target says that the
    regression of the node differs there, and not that somebody acted on the node: if a changed
    variable is not measured, each of its children is a target.

    Without a reference, it maps every environment to the nodes whose mechanism it shares with no
    other. If no two environments share a node's mechanism, the node is a target of all of them: the
    score cannot tell which environment changed it. Of two environments, it never can.

    `GaussianBNLearner` with ``targets`` makes these objects; there is no constructor.
    `GaussianBayesianNetwork.cpdag` takes them, to say which edges they direct.

    Attributes
    ----------
    reference : hashable
        The environment with which the others are compared; False without one.
    kind : {"soft", "hard"}
        Whether a target has a regression of its own on the same parents, or has no parents.
    score_losses : ndarray of shape (len(targets), n_nodes), nats
        What the score loses if a node is no target of an environment, for the same network; NaN
        where it is none.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import GaussianBNLearner
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat(["a", "b"], 200)
    >>> cause = rng.normal(size=400) + 2 * (site == "b")
    >>> rows = np.stack([cause, cause + rng.normal(size=400)], axis=1)
    >>> learner = GaussianBNLearner(targets="soft").fit(rows, environments=site)
    >>> learner.targets_["b"]
    (0,)
    >>> learner.targets_
    Targets of 1 environment beside 'a', soft: 1
    environment  node  loss
    b               0   124
    """

    _alignments = "lrr"
    _header = "environment", "node", "loss"

    reference: Hashable
    kind: str
    score_losses: Floats
    _names: list[Hashable]
    _nodes: list[Any]
    _networks: dict[Hashable, GaussianBayesianNetwork]

    def __init__(self) -> None:
        raise TypeError('Targets are found by GaussianBNLearner(targets="soft") and its fit.')

    @classmethod
    def _of(
        cls,
        names: Sequence[Hashable],
        nodes: Sequence[Any],
        kind: str,
        losses: Floats,
        networks: list[GaussianBayesianNetwork],
    ) -> Self:
        self = cls.__new__(cls)
        self._names = [*names][len(names) - len(losses) :]
        self.reference = names[0] if len(losses) < len(names) else False
        self.kind, self._nodes = kind, [*nodes]
        self.score_losses = losses
        self._networks = dict(zip(names, networks, strict=True))
        return self

    def __getitem__(self, environment: Hashable) -> tuple[Hashable, ...]:
        if environment not in self._names:
            raise KeyError(
                f"There is no environment {readable_value(environment)} with targets; there are "
                f"{readable_value(self._names)}."
            )
        is_target = ~np.isnan(self.score_losses[self._names.index(environment)])
        return tuple(self._nodes[x] for x in np.flatnonzero(is_target))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def network(self, environment: Hashable) -> GaussianBayesianNetwork:
        """Return the network with the parameters that hold in an environment.

        A target has its own regression there, of the environment's rows alone; if targets are hard,
        it has no parents.

        Parameters
        ----------
        environment : hashable
            One of the environments, or the reference; else a KeyError.

        Returns
        -------
        network : GaussianBayesianNetwork
        """
        if environment not in self._networks:
            _ = self[environment]
        return self._networks[environment]

    def to_frame(self) -> Any:
        """Return a row for each target, the most certain first within each environment.

        Returns
        -------
        table : pandas.DataFrame, or a table that converts to one if pandas is not installed
            With the columns `environment`, `node`, and `score_loss`, in nats, as in `score_losses`.
        """
        rows = self._entries()
        return frame_of(
            {
                "environment": [self._names[e] for e, _ in rows],
                "node": [self._nodes[x] for _, x in rows],
                "score_loss": [float(self.score_losses[e, x]) for e, x in rows],
            }
        )

    def plot(self, environment: Hashable, **options: Any) -> NetworkDisplay:
        """Draw the network of an environment, its targets highlighted.

        Parameters
        ----------
        environment : hashable
            As for `network`.
        **options
            As `NetworkDisplay.plot` has them.

        Returns
        -------
        display : NetworkDisplay
        """
        network, own = self.network(environment), self.get(environment, ())
        return network.plot(**{"highlight": [*own] or None, **options})

    def _lines(self) -> list[tuple[str, str]]:
        """Return the lines of a learner's summary."""
        network, *_ = self._networks.values()
        n = len(self._nodes) - len(network._graph.exogenous)
        found = [
            f"{e!r}: {'all nodes, which directs no edge' if len(own) == n else first_few(own)}"
            for e, own in self.items()
            if own
        ]
        has_none = not self._has_reference
        compared = "without a reference" if has_none else f"compared with {self.reference!r}"
        lines = [
            ("environments", f"{len(self._networks)}, {compared}"),
            ("targets", f"{self.kind}; {'; '.join(found) or 'none'}"),
        ]
        if own := [x for x in self._nodes if has_none and all(x in each for each in self.values())]:
            untold = "the score cannot tell which environment changed"
            lines.append(("not shared", f"{first_few(own)}; {untold}"))
        return lines

    @property
    def _has_reference(self) -> bool:
        return len(self) < len(self._networks)  # the reference may be called False

    def _entries(self) -> list[tuple[int, int]]:
        """Return the numbers of environment and node of each target, in the table's order."""
        found = np.argwhere(~np.isnan(self.score_losses)).tolist()
        return sorted(
            ((e, x) for e, x in found), key=lambda at: (at[0], -self.score_losses[at[0], at[1]])
        )

    def _caption(self) -> str:
        n, found = len(self), len(self._entries())
        environments = f"{n} environment{'s' * (n != 1)}"
        beside = f" beside {self.reference!r}" if self._has_reference else ""
        return f"Targets of {environments}{beside}, {self.kind}: {found}"

    def _rows(self) -> Sequence[Sequence[str]]:
        return [
            (str(self._names[e]), str(self._nodes[x]), f"{self.score_losses[e, x]:.3g}")
            for e, x in self._entries()
        ]
