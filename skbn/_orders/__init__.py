"""Ordering-based search for a good network of many columns, which it does not prove the best."""
