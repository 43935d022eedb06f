"""Graphs to draw, and what their pictures show."""

import networkx as nx


def graph_of(nodes, edges=(), **attributes):
    """Return a graph with nodes in this order, and the attributes of all of them."""
    dag = nx.DiGraph()
    dag.add_nodes_from(nodes, **attributes)
    dag.add_edges_from(edges)
    return dag


def weighted(nodes, edges=(), noise_variance=1.0, intercept=0.0):
    """Return a graph with parameters, whose edges are given as (parent, child, weight)."""
    dag = graph_of(nodes, intercept=intercept, noise_variance=noise_variance)
    dag.add_weighted_edges_from(edges)
    return dag


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


def faces(display):
    return {node: box.get_facecolor()[:3] for node, box in display.nodes_.items()}
