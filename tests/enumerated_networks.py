"""All networks of a few columns, in the order of their scores, and lists held against them."""

from collections import defaultdict
from math import inf

import pytest
import reference
from numpy.testing import assert_allclose
from random_constraints import is_allowed


def ranking(scores, m, **settings):
    """All networks that the settings of a learner allow and their scores, the best first."""
    allowed = {
        key: score for key, score in scores.items() if is_allowed(*key, settings) and score > -inf
    }
    found = [
        (sum(allowed[x, p] for x, p in enumerate(parents)), parents)
        for parents in reference.all_dags(m)
        if all((x, p) in allowed for x, p in enumerate(parents))
    ]
    return sorted(found, key=lambda each: -each[0])


def check_lists(learner, expected, targets=()):
    """All networks are listed in order, each once, and all classes with their members."""
    networks = learner.near_optimal(10**6, equivalence_classes=False)
    assert networks.is_complete
    score_of = {parents: score for score, parents in expected}
    found = [reference.parents_of(network.dag) for network in networks]
    assert {*found} == {*score_of}
    assert len(found) == len(score_of)
    assert_allclose(networks.scores, [score for score, _ in expected], atol=1e-8)
    assert_allclose(networks.scores, [score_of[each] for each in found], atol=1e-8)

    classes = defaultdict(list)
    for score, parents in expected:
        classes[reference.interventional_class(parents, targets)].append((score, parents))
    listed = learner.near_optimal(10**6)
    assert listed.is_complete
    assert len(listed) == len(classes)
    assert_allclose(
        listed.scores, sorted((max(m)[0] for m in classes.values()), reverse=True), atol=1e-8
    )
    n_members = list(listed.to_frame()["n_members"])
    for network, score, n in zip(listed, listed.scores, n_members, strict=True):
        own = reference.parents_of(network.dag)
        members = classes.pop(reference.interventional_class(own, targets))
        assert max(members)[0] == pytest.approx(score, abs=1e-8)
        assert n == len(members)
        if not learner.tiers and not learner.forbidden_edges and learner.max_parents is None:
            shared, joined = reference.essential_edges([parents for _, parents in members])
            pattern = network.cpdag()
            assert {*pattern.edges} >= shared
            undirected = {
                frozenset((a, b))
                for a, b, is_undirected in pattern.edges(data="undirected")
                if is_undirected
            }
            assert undirected == joined - {frozenset(edge) for edge in shared}
    assert not classes
