"""Tables whose nodes are blocks of columns."""

import numpy as np

from skbn._data.nodes import NodeColumn, Nodes
from skbn._data.sample import Sample


def indicators(codes, reference=0):
    """Return the indicators of all levels but one."""
    levels = np.unique(codes)
    return np.column_stack([(codes == v) * 1.0 for v in levels if v != levels[reference]])


def mixed_blocks(m, n, rng, *, widest=3):
    """Return m blocks of correlated columns: numbers, categories and polynomials."""
    latent = rng.normal(size=(n, m)) @ (np.eye(m) + 0.6 * np.triu(rng.normal(size=(m, m)), 1))
    blocks = []
    for z in latent.T:
        width, kind = rng.integers(1, widest + 1), rng.integers(3)
        if kind == 0:
            blocks.append(z[:, np.newaxis])
        elif kind == 1:
            cuts = np.quantile(z, np.linspace(0, 1, width + 2)[1:-1])
            blocks.append(indicators(np.searchsorted(cuts, z)))
        else:
            u = 2 * (z - z.min()) / np.ptp(z) - 1
            blocks.append(np.polynomial.legendre.legvander(u, width)[:, 1:])
    return blocks


def nodes_of(blocks):
    widths = [block.shape[1] for block in blocks]
    columns = [
        NodeColumn(f"v{i}" if width == 1 else f"v{i}_{j}", sum(widths[:i]) + j)
        for i, width in enumerate(widths)
        for j in range(width)
    ]
    labels = [column.name for column in columns]
    return Nodes([f"v{i}" for i in range(len(blocks))], columns, widths, {}, labels)


def block_sample(blocks, weight=None):
    return Sample(np.ascontiguousarray(np.hstack(blocks)), weight, nodes=nodes_of(blocks))
