"""The best network of scored families, within constraints: plan, search, certify."""
