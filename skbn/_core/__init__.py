"""What all subpackages build on: kernels and vectors, sets, threads, memory, text, graphs and labels."""
