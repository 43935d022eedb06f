"""Rows with holes: what is seen together, and the parameters that make it most probable."""
