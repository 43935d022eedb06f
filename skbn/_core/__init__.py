"""What all rooms build on: kernels and vectors, sets, threads, memory, text, graphs and labels."""
