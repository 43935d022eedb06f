"""Markov chains over networks, for tables that are too wide for sums over all of them.

To follow it, read `chain`: it says what the state of a chain is, and what happens in a step.
Nothing here knows of tables, names or constraints, but only the local scores of sets of candidates.

- `partition_kernels` has the state and the weight of a place in it;
- `move_kernels` draw new places for a few columns, jointly and exactly given the rest, by what
  these places weigh (`place_kernels`);
- `family_kernels` draw parents given a partition, and read probabilities off a state;
- `block_kernels` draw the parents of a few columns anew, given the rest of a network;
- `candidates` says which columns may be parents in a state, and `candidate_kernels` draw those of
  them that are random;
- `run` takes chains through their burn-in and on;
- `convergence` compares chains: R-hat, effective sample sizes and standard errors.
"""
