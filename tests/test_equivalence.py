import numpy as np
import pytest
import reference

from skbn._networks._equivalence import canonical_member, compelled_parents
from skbn._subsets import mask_of, members_of


def as_masks(parents):
    return [mask_of(ps) for ps in parents]


@pytest.mark.parametrize("m", [2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_classes_by_enumeration(m):
    """A class has one canonical member, and compelled are the edges all members share."""
    classes = {}
    for dag in reference.all_dags(m):
        classes.setdefault(reference.equivalence_class(dag), []).append(dag)
    assert len(classes) == {2: 2, 3: 11, 4: 185, 5: 8782}[m]  # OEIS A007984
    for members in classes.values():
        canonical = {tuple(canonical_member(as_masks(dag))) for dag in members}
        assert len(canonical) == 1
        chosen = tuple(tuple(members_of(mask)) for mask in canonical.pop())
        assert chosen in members
        shared = [mask_of(set.intersection(*(set(d[x]) for d in members))) for x in range(m)]
        for dag in members:
            assert compelled_parents(as_masks(dag)) == shared


def test_reversible_edges_follow_the_column_order():
    assert canonical_member([0b110, 0b000, 0b010]) == [0, 0b001, 0b011]


def test_many_columns():
    rng = np.random.default_rng(0)
    m = 20
    parents = [mask_of(v for v in range(x) if rng.random() < 0.2) for x in range(m)]
    chosen = tuple(tuple(members_of(mask)) for mask in canonical_member(parents))
    own = tuple(tuple(members_of(mask)) for mask in parents)
    assert reference.is_acyclic(chosen)
    assert reference.equivalence_class(chosen) == reference.equivalence_class(own)
