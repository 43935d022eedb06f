"""What all subpackages build on: kernels, sets, threads, memory, text, graphs and labels."""
