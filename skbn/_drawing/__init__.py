"""Drawing networks: where nodes and edges go, and how they look."""
