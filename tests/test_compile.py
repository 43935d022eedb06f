from skbn._compile import kernel


def test_a_kernel_without_a_place_for_its_cache_still_compiles():
    namespace = {}
    exec("def increment(x): return x + 1", namespace)  # of no file, so of no cache folder
    assert kernel(namespace["increment"])(1) == 2
