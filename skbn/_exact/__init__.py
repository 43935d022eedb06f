"""The exact search: the best network of all, by dynamic programming over sets of columns.

To follow it, read `recurrences`: it states the two recurrences, calls their steps in order and
walks back from the best score to the network. Nothing here knows of rows, names or estimators.

Its kernels, in the order of the steps:

- `slab_kernels` makes local scores where they are needed, as maxima over the sets of a block;
- `skbn._core.zeta` turns them into maxima over all subsets of the parent candidates, B;
- `slab_kernels` has the recursion over sinks, F.

What the search goes through, each a `FamilySource` (stated in `recurrences`):

- `dense_families`: all families, scored from log-determinants;
- `listed_families`: those in a list.

Around it:

- `plan` lays out the memory, and says what would make a search fit;
- `spot_check` computes a few entries of B and F once more, without the kernels.

The kernels take the join of alternatives and the product of columns as arguments: here they are
maximum and sum, and in `skbn._posterior` sum and product.
"""
