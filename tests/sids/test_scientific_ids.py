"""What must hold on a real catalogue: MiniLM vectors of amazon2018-scientific."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.data.prepare import read_dataset
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.sids.tokenize import TokenizeSettings, tokenize

pytestmark = [pytest.mark.slow, pytest.mark.shared_data]


@pytest.fixture(scope="module")
def scientific(shared_data: Path) -> ItemEmbeddings:
    folder = shared_data / "amazon2018-scientific"
    catalog = read_dataset(folder / "sequences.tsv", items=folder / "items.jsonl").catalog
    return embed_catalog(catalog, EmbeddingSettings(max_tokens=32))  # the first words of a title say most


def test_every_item_its_own_id_and_healthy_codebooks(scientific: ItemEmbeddings) -> None:
    ours = tokenize(scientific, TokenizeSettings())
    opq = tokenize(scientific, TokenizeSettings(tokenizer="opq"))
    assert ours.report["items"] == ours.report["unique_ids"] == 4_344
    assert ours.report["used_codes"] >= 0.98 * 1_024
    assert ours.report["collision_rate_before"] < 0.12  # the published recipe: .11 at its best epoch, .19 at its last
    assert ours.report["reconstruction_error"] <= opq.report["reconstruction_error"]
    assert ours.report["reconstruction_error_vectors"] <= opq.report["reconstruction_error_vectors"]
    more = ours.with_new_items(scientific.vectors[:1_000], [f"new {item}" for item in range(1_000)])
    assert more.ids.n_unique == 5_344
    assert more.ids.codes[:4_344].tobytes() == ours.ids.codes.tobytes()
