"""The posterior of networks: sums over all of them, where the search has maxima."""
