"""Tables whose columns are nearly dependent, or differ much in scale, or have few rows."""

from skbn.datasets import make_gaussian_network

KINDS = ["collinear", "duplicates", "scales", "offsets", "few rows", "all of it"]


def hostile_table(rng, most=11):
    """Return rows and a learner's settings."""
    kind, m = str(rng.choice(KINDS)), int(rng.integers(5, most + 1))
    n = int(rng.integers(m + 15, 400))
    if kind in ("few rows", "all of it"):
        n = m + int(rng.integers(2, 8))
    degree = rng.uniform(1, 3)
    X = make_gaussian_network(m, mean_degree=degree, n_samples=n, random_state=rng)[0]
    X /= X.std(axis=0)
    if kind in ("collinear", "duplicates", "all of it"):
        for _ in range(rng.integers(1, 4)):
            n_others = 1 if kind == "duplicates" else int(rng.integers(1, m))
            column, *others = rng.permutation(m)[: n_others + 1]
            noise = 10.0 ** rng.uniform(-6, -1) * rng.normal(size=n)
            combined = X[:, others] @ rng.choice([-1.0, 1.0, 2.0], n_others)
            X[:, column] = combined / combined.std() + noise
    if kind in ("scales", "all of it"):
        X *= 10.0 ** rng.uniform(-8, 8, m)
    if kind in ("offsets", "all of it"):
        X += X.std(axis=0) * 10.0 ** rng.uniform(0, 5, m) * rng.choice([-1.0, 1.0], m)
    return X, {"criterion": str(rng.choice(["bic", "ebic", "aic"]))}
