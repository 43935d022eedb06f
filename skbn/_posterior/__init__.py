"""Exact posteriors over networks, their parameters and causal effects."""
