"""The posterior of networks whose nodes have several columns each, against enumeration."""

import numpy as np
import pytest
import reference
from block_tables import mixed_blocks, nodes_of
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from skbn import GaussianBNPosterior


@pytest.mark.parametrize("max_parents", [None, 1])
def test_edges_and_evidence_are_those_of_all_networks(max_parents):
    blocks = mixed_blocks(4, 25, np.random.default_rng(6))
    local = {
        family: reference.block_score(blocks, *family, "bge") for family in reference.families(4)
    }
    most = 3 if max_parents is None else max_parents
    dags = [dag for dag in reference.all_dags(4) if max(map(len, dag)) <= most]
    odds = 0.4  # the prior counts edges between nodes
    n_edges = np.array([sum(map(len, dag)) for dag in dags])
    prior = n_edges * np.log(odds) - logsumexp(n_edges * np.log(odds))
    scores = np.array([sum(local[x, ps] for x, ps in enumerate(dag)) for dag in dags])
    evidence = logsumexp(prior + scores)
    share = np.exp(prior + scores - evidence)
    expected = np.zeros((4, 4))
    for weight, dag in zip(share, dags, strict=True):
        for x, parents in enumerate(dag):
            expected[list(parents), x] += weight

    labels = np.repeat(np.arange(4), nodes_of(blocks).widths)
    posterior = GaussianBNPosterior(
        nodes=labels, structure_prior="uniform", edge_prior=odds, max_parents=max_parents
    ).fit(np.hstack(blocks))
    assert_allclose(posterior.edge_probabilities_, expected, atol=1e-9)
    assert_allclose(posterior.log_evidence_, evidence, rtol=1e-9)
