"""A network's methods to write it in other forms, and to read it from there."""

from __future__ import annotations

import os
from typing import Any, Self, overload

import networkx as nx
from sklearn.exceptions import NotFittedError

from skbn._networks import interchange, json
from skbn._networks.inference import InferenceMixin
from skbn._networks.structure import StructureMixin

__all__ = ["InterchangeMixin"]


class InterchangeMixin(StructureMixin, InferenceMixin):
    """JSON, DOT, Mermaid and pgmpy's models."""

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return the network as JSON, in networkx's node-link format, or write it to a file.

        Parameters
        ----------
        path : str or path, optional
            The file. One of this name is replaced when all is written, and left as it is if
            that fails. A symbolic link is followed; a pipe is written to.

        Returns
        -------
        text : str, or None with a path
            `from_json` reads the same parameters from it, to the last bit, and which edges
            are `fixed`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError
            If a node is neither a string nor an integer, or there are more than 10,000.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_node("a", intercept=0.1, noise_variance=1)
        >>> text = GaussianBayesianNetwork(dag).to_json()
        >>> GaussianBayesianNetwork.from_json(text).intercept_
        array([0.1])
        """
        return json.to_json(self._model().to_dag(), path)

    @classmethod
    def from_json(cls, text_or_path: str | os.PathLike[str]) -> Self:
        """Read a network from the text that `to_json` returns, or the file that it writes.

        Parameters
        ----------
        text_or_path : str or path
            A string is the JSON itself; a file is given by a ``pathlib.Path``, and is in UTF-8.
            Either may come from anyone: it is checked, and nothing in it is evaluated.

        Returns
        -------
        network : GaussianBayesianNetwork

        Raises
        ------
        TypeError
            If it is neither a string nor a path.
        ValueError
            If it is not JSON, lacks something, or has a key that a network would lose; if a
            node, an edge or a key is repeated, an edge has an unknown end, or the edges have
            a cycle; if a parameter is no finite number, or a variance negative; if there
            are more than 10,000 nodes.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> from skbn import GaussianBayesianNetwork
        >>> text = '''{"directed": true, "multigraph": false, "edges": [],
        ...           "nodes": [{"id": "a", "intercept": 0, "noise_variance": 1}]}'''
        >>> GaussianBayesianNetwork.from_json(text).nodes
        ['a']
        """
        return cls._of(json.from_json(text_or_path))

    def to_dot(self, *, cpdag: bool = False) -> str:
        """Return the network in Graphviz's DOT language, the weights as the edges' labels.

        Parameters
        ----------
        cpdag : bool, default=False
            Whether to return the graph of the equivalence class instead, as `cpdag` gives
            it with what is known, without weights and its undirected edges without heads.

        Returns
        -------
        text : str
            Without labels if the network has no parameters.

        Raises
        ------
        TypeError, ValueError
            If `dag` is no acyclic graph; if two nodes have the same text; if the network
            lacks some of its parameters.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2 / 3)
        >>> print(GaussianBayesianNetwork(dag).to_dot())
        digraph {
          "a";
          "b";
          "a" -> "b" [label="0.667"];
        }
        """
        return interchange.to_dot(self._drawn(cpdag))

    def to_mermaid(self, *, cpdag: bool = False) -> str:
        """Return the network as a Mermaid flowchart, the weights as the edges' labels.

        Markdown pages show it as a picture in many places: in a block of code whose
        language is ``mermaid``.

        Parameters
        ----------
        cpdag : bool, default=False
            Whether to return the graph of the equivalence class instead, as `cpdag` gives
            it with what is known, without weights and its undirected edges without heads.

        Returns
        -------
        text : str
            Without labels if the network has no parameters.

        Raises
        ------
        TypeError, ValueError
            If `dag` is no acyclic graph; if the network lacks some of its parameters.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
        >>> print(network.to_mermaid())
        flowchart TD
          n0["a"]
          n1["b"]
          n0 --> n1
        """
        return interchange.to_mermaid(self._drawn(cpdag))

    def _drawn(self, cpdag: bool) -> nx.DiGraph:
        """Return the graph of the equivalence class, or the network's, with what it has."""
        if cpdag:
            return self.cpdag()
        try:
            return self._model().to_dag()
        except NotFittedError:
            return self._structure()

    def to_pgmpy(self) -> Any:
        """Return the network as a model of pgmpy.

        Returns
        -------
        model : pgmpy.models.LinearGaussianBayesianNetwork
            It keeps standard deviations, whose squares may differ from the variances in
            the last bit, and not which edges are `fixed`.

        Raises
        ------
        ImportError
            If pgmpy is not installed.
        sklearn.exceptions.NotFittedError
            If there are no parameters.

        Examples
        --------
        >>> network.to_pgmpy().get_cpds("b")  # doctest: +SKIP
        <LinearGaussianCPD: P(b | a) = N(2.0*a + 1.0; 0.5) at 0x7f5ff6c1e110>
        """
        return interchange.to_pgmpy(self._model().to_dag())

    @classmethod
    def from_pgmpy(cls, model: Any) -> Self:
        """Read a network from a model of pgmpy.

        Parameters
        ----------
        model : pgmpy.models.LinearGaussianBayesianNetwork
            With the conditional distributions of all its nodes.

        Returns
        -------
        network : GaussianBayesianNetwork

        Raises
        ------
        ImportError
            If pgmpy is not installed.
        TypeError
            If it is another model.
        ValueError
            If a node's conditional distribution is missing or does not fit its parents.

        Examples
        --------
        >>> from pgmpy.models import LinearGaussianBayesianNetwork  # doctest: +SKIP
        >>> model = LinearGaussianBayesianNetwork([("a", "b")]).fit(table)  # doctest: +SKIP
        >>> network = GaussianBayesianNetwork.from_pgmpy(model)  # doctest: +SKIP
        """
        return cls._of(interchange.from_pgmpy(model))
