"""Random constraints of a learner, and what they allow, told the plain way."""

import networkx as nx
import numpy as np


def random_constraints(rng, m):
    """Settings of a learner that some network satisfies, in one of the forms that it takes."""
    order = [int(x) for x in rng.permutation(m)]
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    required = [pair for pair in pairs if rng.random() < 0.4 / m]
    forbidden = [
        (a, b)
        for a, b in [*pairs, *((b, a) for a, b in pairs)]
        if (a, b) not in required and rng.random() < rng.choice([0.0, 0.3, 0.6])
    ]
    settings = {
        "required_edges": required if rng.random() < 0.5 else nx.DiGraph(required),
        "forbidden_edges": forbidden or None,
    }
    if rng.random() < 0.5:
        cuts = sorted(rng.integers(0, m + 1, size=2))
        settings["tiers"] = [order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :]]
    if rng.random() < 0.5:
        most = max(sum(b == x for _, b in required) for x in range(m))
        settings["max_parents"] = int(rng.integers(most, m))
    return settings


def is_allowed(x, parents, settings):
    """Columns that no tier names come last."""
    tiers = settings.get("tiers") or []
    tier_of = {c: i for i, tier in enumerate(tiers) if tier is not ... for c in tier}
    tier = tier_of.get(x, len(tiers))
    forbidden = settings.get("forbidden_edges") or []
    required = nx.DiGraph(settings.get("required_edges")).edges
    return (
        all((p, x) not in forbidden for p in parents)
        and all(p in parents for p, child in required if child == x)
        and len(parents) <= settings.get("max_parents", np.inf)
        and all(tier_of.get(p, len(tiers)) <= tier for p in parents)
    )
