"""The best network where noise that is not Gaussian tells the directions of edges."""
