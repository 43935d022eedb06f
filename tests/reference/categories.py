"""Levels of categories, by Bayes's rule over all their combinations."""

import itertools

import numpy as np
from scipy.stats import multivariate_normal

__all__ = ["linear_discriminant", "location_model", "mixture_over_levels"]


def linear_discriminant(rows, levels, weight, new):
    """Return P(level | row) for new rows, (n, k), with the covariance of maximum likelihood."""
    known = np.unique(levels)
    shares, means, within = [], [], 0.0
    for level in known:
        own = levels == level
        shares.append(weight[own].sum() / weight.sum())
        means.append(np.average(rows[own], axis=0, weights=weight[own]))
        deviations = rows[own] - means[-1]
        within = within + (deviations.T * weight[own]) @ deviations / weight.sum()
    densities = [multivariate_normal(mean, within).pdf(new).reshape(len(new)) for mean in means]
    joint = np.array(shares) * np.array(densities).T
    return joint / joint.sum(axis=1, keepdims=True)


def location_model(rows, levels, new):
    """Return P(levels | row) for new rows, a dict from combinations to arrays.

    The cells have their shares, means without interactions, and one covariance.
    """
    known = [np.unique(own) for own in levels]
    cells = [*itertools.product(*known)]

    def design(values):
        columns = [np.ones(len(values[0]))]
        for own, all_levels in zip(values, known, strict=True):
            columns += [own == level for level in all_levels[1:]]
        return np.column_stack(columns).astype(float)

    slopes = np.linalg.lstsq(design(levels), rows, rcond=None)[0]
    left = rows - design(levels) @ slopes
    joint = []
    for cell in cells:
        share = np.mean(
            np.all([own == level for own, level in zip(levels, cell, strict=True)], axis=0)
        )
        (mean,) = design([np.array([level]) for level in cell]) @ slopes
        density = multivariate_normal(mean, left.T @ left / len(rows)).pdf(new)
        joint.append(share * density.reshape(len(new)))
    return dict(zip(cells, joint / np.sum(joint, axis=0), strict=True))


def mixture_over_levels(mean, covariance, blocks, row):
    """Return the mean and covariance of all columns given what is seen of a row.

    `blocks` are the columns of each category, in topological order; a row has NaN where a value is
    missing. Shares are regressions on the categories before, and numbers Gaussian given all levels.
    """
    indicators = [i for own in blocks for i in own]
    numbers = [i for i in range(len(mean)) if i not in indicators]
    seen = [i for i in numbers if not np.isnan(row[i])]
    weights, means, covariances = [], [], []
    for levels in itertools.product(*[range(len(own) + 1) for own in blocks]):
        e = np.concatenate(
            [np.eye(len(own) + 1)[k, 1:] for own, k in zip(blocks, levels, strict=True)]
        )
        known = ~np.isnan(row[indicators])
        if not np.array_equal(e[known], row[indicators][known]):
            continue
        weight, before = 1.0, 0
        for own, k in zip(blocks, levels, strict=True):
            earlier = indicators[:before]
            expected = mean[own].copy()
            if earlier:
                slopes = np.linalg.solve(
                    covariance[np.ix_(earlier, earlier)], covariance[np.ix_(earlier, own)]
                )
                expected = expected + (e[:before] - mean[earlier]) @ slopes
            shares = np.maximum(np.append(1 - expected.sum(), expected), 1e-12)
            weight *= shares[k] / shares.sum()
            before += len(own)
        at = [*indicators, *seen]
        if seen:
            own_mean, own_covariance = _given(mean, covariance, indicators, e)
            weight *= multivariate_normal(own_mean[seen], own_covariance[np.ix_(seen, seen)]).pdf(
                row[seen]
            )
        whole = _given(mean, covariance, at, np.concatenate([e, row[seen]]))
        weights.append(weight)
        means.append(whole[0])
        covariances.append(whole[1])
    weights = np.array(weights) / np.sum(weights)
    total = weights @ np.array(means)
    squares = [
        w * (each + np.outer(own - total, own - total))
        for w, own, each in zip(weights, means, covariances, strict=True)
    ]
    return total, np.sum(squares, axis=0)


def _given(mean, covariance, at, values):
    """Return the moments of all columns given some; those have no variance."""
    slopes = np.linalg.solve(covariance[np.ix_(at, at)], covariance[at])
    found = mean + (values - mean[at]) @ slopes
    found[at] = values
    left = covariance - covariance[:, at] @ slopes
    left[at], left[:, at] = 0.0, 0.0
    return found, left
