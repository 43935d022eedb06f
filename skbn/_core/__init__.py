"""What all subpackages build on: kernels, sets, graphs, columns, resources, text, estimators."""
