"""The exact search: the best network of all, by dynamic programming over sets of columns.

To follow it, read `recurrences` first: it states the two recurrences, calls their steps in order,
and walks back from the best score to the network. Nothing here knows of rows, names or estimators.

Its kernels, in the order of the steps:

- `fill_kernels` makes local scores where they are needed, as maxima over the sets of a block;
- `skbn._core.subsets` turns them into maxima over all subsets of the parent candidates, B;
- `sink_kernels` has the recursion over sinks, F.

Sources of families, each a `FamilySource` (stated in `family_sources`):

- `dense_families`: all families, scored as differences of a set function in memory; it also
  checks a few entries of B and F without the kernels;
- `walked_families`: all families, whose set function is made again, a few pieces at a time;
- `listed_families`: the families in a list.

Places for F:

- `file_store`: scores in a file, if memory does not suffice;
- `cluster`: on the workers of dask.distributed, whose tasks are the slabs.

Around it:

- `plan` lays out the memory, and chooses between these ways;
- `k_best` yields further networks, or one of each equivalence class.

The kernels take the join of alternatives and the product of columns as arguments: here they are
maximum and sum, and in `skbn._posterior` sum and product.
"""
