"""FormatsMixin: a network in the formats of other programs."""

from __future__ import annotations

import os
from typing import Any, Self, overload

import networkx as nx

from skbn._core.graphs import check_dag
from skbn._networks import interchange
from skbn._networks.parameters import ParametersMixin

__all__ = ["FormatsMixin"]


class FormatsMixin(ParametersMixin):
    """JSON, DOT, Mermaid, bnlearn's model strings and pgmpy."""

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return the network as JSON, in networkx's node-link format, or write it to a file.

        Parameters
        ----------
        path : str or path, optional
            The file. An existing file is replaced once everything is written, and kept if that
            fails. A symbolic link is followed; a pipe is written to.

        Returns
        -------
        text : str, or None with a path
            `from_json` reads the same parameters from it, to the last bit, and the attribute
            `fixed` of edges.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError
            If a node is neither a string nor an integer.
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
        return interchange.to_json(self._model().to_dag(), path)

    @classmethod
    def from_json(cls, text_or_path: str | os.PathLike[str]) -> Self:
        """Read a network from the text that `to_json` returns, or the file that it writes.

        Parameters
        ----------
        text_or_path : str or path
            A string is the JSON itself; a file is given by a ``pathlib.Path``, and is in UTF-8.
            Nothing in it is evaluated. Attributes that are not parameters or `fixed` are ignored.

        Returns
        -------
        network : GaussianBayesianNetwork

        Raises
        ------
        TypeError
            If it is neither a string nor a path.
        ValueError
            If it is not JSON, or a part is missing; if a node, an edge or a key of an object comes
            twice, there are both "edges" and "links", an edge has an unknown end, or the edges have
            a cycle; if a parameter is not a finite number, or a variance is negative.
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
        return cls(interchange.from_json(text_or_path))  # type: ignore[call-arg]

    def to_dot(self, *, cpdag: bool = False) -> str:
        """Return the network in Graphviz's DOT language, the weights as the edges' labels.

        Parameters
        ----------
        cpdag : bool, default=False
            Whether to return the graph of the equivalence class instead, as from the method
            `cpdag`. It has no weights, and undirected edges have no heads.

        Returns
        -------
        text : str
            Without labels if the network has no parameters.

        Raises
        ------
        TypeError, ValueError
            If `dag` is not an acyclic graph; if two nodes have the same text; if only some of
            the parameters are there.

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
        return interchange.to_dot(self._exported_graph(cpdag))

    def to_mermaid(self, *, cpdag: bool = False) -> str:
        """Return the network as a Mermaid flowchart, the weights as the edges' labels.

        Many viewers of Markdown show it as a picture, in a block of code whose language is
        ``mermaid``.

        Parameters
        ----------
        cpdag : bool, default=False
            Whether to return the graph of the equivalence class instead, as from the method
            `cpdag`. It has no weights, and undirected edges have no heads.

        Returns
        -------
        text : str
            Without labels if the network has no parameters.

        Raises
        ------
        TypeError, ValueError
            If `dag` is not an acyclic graph; if only some of the parameters are there.

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
        return interchange.to_mermaid(self._exported_graph(cpdag))

    def _exported_graph(self, cpdag: bool) -> nx.DiGraph:
        """Return the equivalence class's graph, or the network's with its parameters, if any."""
        if cpdag:
            return self.cpdag()
        model = self._parameters()
        return self._structure() if model is None else model.to_dag()

    def to_modelstring(self) -> str:
        """Return the graph as bnlearn's `modelstring` writes it, for `model2network` there.

        Returns
        -------
        text : str
            A bracket for each node, parents before their children. It has no parameters.

        Raises
        ------
        TypeError, ValueError
            If `dag` is not an acyclic graph; if a node's name has a bracket, ``|`` or ``:``.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> GaussianBayesianNetwork(nx.DiGraph([("a", "c"), ("b", "c")])).to_modelstring()
        '[a][b][c|a:b]'
        """
        check_dag(self.dag)
        return interchange.to_modelstring(self.dag)

    @classmethod
    def from_modelstring(cls, text: str) -> Self:
        """Read a graph from what `modelstring` of bnlearn returns.

        Parameters
        ----------
        text : str
            Such as ``"[a][b|a]"``. The nodes keep its order.

        Returns
        -------
        network : GaussianBayesianNetwork
            Without parameters: call `fit`.

        Raises
        ------
        TypeError
            If it is not a string.
        ValueError
            If it is no model string, a node or an edge comes twice, a parent is no node, or the
            edges have a cycle.

        Examples
        --------
        >>> from skbn import GaussianBayesianNetwork
        >>> list(GaussianBayesianNetwork.from_modelstring("[a][b][c|a:b]").dag.edges)
        [('a', 'c'), ('b', 'c')]
        """
        return cls(interchange.from_modelstring(text))  # type: ignore[call-arg]

    def to_pgmpy(self) -> Any:
        """Return the network as a model of pgmpy.

        Returns
        -------
        model : pgmpy.models.LinearGaussianBayesianNetwork
            It keeps standard deviations, whose squares may differ from the variances in the
            last bit. It does not keep the attribute `fixed` of edges.

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
        return cls._from_model(interchange.from_pgmpy(model))
