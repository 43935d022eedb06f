"""What all rooms build on: kernels, sets, graphs, columns, memory, threads and text."""
