"""The picture of a network in a notebook's HTML."""

from __future__ import annotations

from base64 import b64encode
from importlib.util import find_spec
from io import BytesIO

import networkx as nx

__all__ = ["notebook_picture"]

_MOST_NODES, _MOST_EDGES = 40, 80  # larger ones can take seconds each time; `plot` draws them
_STYLE = "max-width:100%;height:auto;margin:0.5em 0"


def notebook_picture(graph: nx.DiGraph) -> str:
    """Return an HTML image of a graph, or nothing if it is too large or cannot be drawn.

    The same graph gives the same text. Its ground is transparent, and its colours can be
    read on light and on dark.
    """
    if find_spec("matplotlib") is None:
        return ""
    if len(graph) > _MOST_NODES or graph.number_of_edges() > _MOST_EDGES:
        return ""
    try:
        svg = b64encode(_svg(graph)).decode()
    except Exception:  # a graph that its user has changed, a font: the rest is to be shown
        return ""
    alt = f"A network; nodes: {len(graph)}, edges: {graph.number_of_edges()}"
    return f'<img alt="{alt}" style="{_STYLE}" src="data:image/svg+xml;base64,{svg}" />'


def _svg(graph: nx.DiGraph) -> bytes:
    from matplotlib.figure import Figure

    from skbn._drawing.network_display import NetworkDisplay, draw_network
    from skbn._drawing.styles import LIGHT
    from skbn._drawing.weights import strengths_of

    figure = Figure(figsize=(1, 1))
    figure.set_layout_engine("none")
    ax = figure.add_axes((0, 0, 1, 1))
    dag = NetworkDisplay(graph).dag
    draw_network(dag, strengths_of(dag), ax=ax, style=LIGHT)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    figure.set_size_inches((right - left) / 72, (top - bottom) / 72)
    svg = BytesIO()
    figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    return svg.getvalue()
