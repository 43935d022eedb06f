"""Branch and cut: the cheapest network of listed families, with a proof that can be replayed."""
