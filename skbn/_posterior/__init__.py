"""The posterior of networks: sums over all of them, where the search has maxima.

To follow it, read `order_sums` and `network_sums`: they state the recurrences of the two priors
over networks. Nothing here knows of estimators, and only `parameter_draws`, `effects` and
`answers` know the statistics of a table.

- `family_weights` has what is summed: the weight of each family, an extended float
  (`skbn._core.extended_floats`); `listed_weights` has the same of families with few parents, one by
  one;
- `network_sum_kernels` has the kernels of the sums over networks; those of the sums over orders
  share the search's;
- `few_columns` has the same sums of up to 8 columns by numpy, without kernels that would have to be
  compiled, and `few_draws` has samples from them;
- `network_posterior` makes the weights of a group of columns, and puts the sums together, by group
  and for all;
- `answers` has what users ask of a posterior: the probabilities of parent sets and of single
  networks, the network of the edges that are more probable than not, the table of all pairs of
  columns, and the density of new rows;
- `sampled_posterior` has the same posterior by Markov chains (`skbn._chains`), where sums do not
  fit, with the scores of `candidate_families`, and `augmentation` that of a table with holes;
- `plan` lays out the memory and says which prior is affordable; `prior` has the prior of networks
  and of edges;
- `sampling` draws networks, with the kernels of `sampling_kernels`;
- `parameter_draws` draws the parameters of networks, and `effects` has the posterior of an
  intervention's effect in sampled networks, with the kernel of `effect_kernels`.
"""
