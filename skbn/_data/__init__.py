"""From rows to what every regression needs: their number, means and triangular factor."""
