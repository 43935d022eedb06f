"""The posterior of networks: sums over all of them, where the search has maxima.

To follow it, read `order_sums` and `network_sums`: they state the recurrences of the two priors
over networks. Nothing here knows of tables or estimators, except `parameters`, `total_effects` and
`adjustment`, which know the statistics of a table.

- `family_weights` has what is summed: the weight of each family, an extended float
  (`skbn._core.extended_floats`), by the kernels of `weight_kernels`; `listed_weights` has the same
  of families with few parents, one by one, with the kernels of `listed_kernels`, and
  `group_weights` makes them for a group of columns;
- `sum_kernels` has the kernels of the sums over orders, which share those of the search;
  `network_sum_kernels` and `row_kernels` those of the sums over networks;
- `group_posterior` and `posterior` put the sums together, by group of columns and for all;
- `plan` lays out the memory and says which prior is affordable; `structure_prior` and `edge_prior`
  have the prior of networks and of edges;
- `sampling` draws networks, with the kernels of `layer_kernels` and `draw_kernels`;
- `pairs` has the table of all pairs of columns;
- `parameters` draws a network's parameters, and `total_effects` has the posterior of an
  intervention's effect (`effects`) in sampled networks, with the kernel of `effect_kernels`;
  `adjustment` has it by regressions, as a mixture of t distributions (`mixtures`).
"""
