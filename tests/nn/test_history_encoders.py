from __future__ import annotations

import pytest
import torch

from sidrec.nn.history_encoders import AttentionEncoder, FilterEncoder, GRUEncoder, HistoryEncoder, LRUEncoder
from sidrec.nn.positions import Distances


def lively(distances: Distances) -> Distances:
    torch.nn.init.normal_(distances.bias)
    return distances


ENCODERS = {
    "attention": lambda: AttentionEncoder(2, 8, 2, 0.1),
    "attention by distance": lambda: AttentionEncoder(2, 8, 2, 0.1, lively(Distances(2, 6))),
    "lru": lambda: LRUEncoder(2, 8, 0.1),
    "gru": lambda: GRUEncoder(2, 8, 0.1),
    "filter": lambda: FilterEncoder(2, 8, 0.1, length=7),
}


@pytest.fixture(params=sorted(ENCODERS))
def encoder(request) -> HistoryEncoder:
    torch.manual_seed(2)
    return ENCODERS[request.param]().eval()


def test_no_place_looks_ahead(encoder):
    x = torch.randn(2, 6, 8)
    torch.testing.assert_close(encoder(x)[:, :3], encoder(x[:, :3]))


def test_the_newest_place_alone_is_the_same(encoder):
    x = torch.randn(2, 6, 8)
    torch.testing.assert_close(encoder.last(x), encoder(x)[:, -1])


def test_each_target_is_one_more_place_behind_its_history(encoder):
    history, targets = torch.randn(2, 6, 8), torch.randn(2, 3, 2, 8)
    found = encoder.after(history, targets, torch.tensor([0, 4]))
    for copy in range(3):
        for column, place in enumerate((0, 4)):
            alone = torch.cat([history[:, : place + 1], targets[:, copy, column, None]], 1)
            torch.testing.assert_close(found[:, copy, column], encoder(alone)[:, -1])


def test_distance_alone_tells_places_apart():
    """Where a head shuts out all that is farther than one place away, an older past changes nothing."""
    torch.manual_seed(2)
    distances = Distances(2, 6)
    distances.bias.data[:, 2:] = -1e4
    encoder = AttentionEncoder(1, 8, 2, 0.0, distances).eval()
    x = torch.randn(2, 6, 8)
    for place in range(1, 6):
        torch.testing.assert_close(encoder(x)[:, place], encoder(x[:, place - 1 : place + 1])[:, 1])
