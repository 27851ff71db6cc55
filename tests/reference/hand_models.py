"""Two models a person can write in ten lines: what follows what, item by item or category by category."""

from __future__ import annotations

import numpy as np


def popularity_scores(data, histories):
    return np.tile(data.train_counts().astype(float), (len(histories), 1))


def transition_scores(data, histories):
    """How often each item came right after the last one in training; popularity breaks ties."""
    counts = np.zeros((data.n_items, data.n_items))
    for row in data.train_sequences():
        np.add.at(counts, (row[:-1], row[1:]), 1)
    last = [history[-1] for history in histories]
    return counts[last] + 1e-6 * data.train_counts()


def category_scores(data, histories):
    """The same between the last categories of the items, shared out by popularity within the category."""
    category = data.catalog.frame["categories"].list.last().rank("dense").to_numpy() - 1
    counts = np.zeros((category.max() + 1, category.max() + 1))
    for row in data.train_sequences():
        np.add.at(counts, (category[row[:-1]], category[row[1:]]), 1)
    share = data.train_counts() / np.bincount(category, data.train_counts())[category]
    last = [history[-1] for history in histories]
    return counts[category[last]][:, category] * share


def recall_at(scores, targets, k):
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return float((best == targets[:, None]).any(1).mean())
