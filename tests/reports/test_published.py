from __future__ import annotations

import pytest

from sidrec.reports.published import published

MODELS = "gru4rec sasrec bert4rec fmlp-rec lrurec dreamrec diffurec vq-rec tiger tiger-sas letter lc-rec rpg llada-rec"


@pytest.mark.parametrize(
    ("dataset", "row", "metric", "value"),
    [
        ("Scientific", "llada-rec", "ndcg@10", 0.0256),
        ("Scientific", "gru4rec", "recall@1", 0.0071),
        ("Instrument", "lc-rec", "recall@10", 0.0587),
        ("Game", "rpg", "recall@1", 0.0209),
        ("Game", "vq-rec", "ndcg@5", 0.0325),
    ],
)
def test_figures_of_the_main_table(dataset, row, metric, value):
    assert published().beside("main-table", dataset).rows[row][metric] == value


@pytest.mark.parametrize("dataset", ["Scientific", "Instrument", "Game"])
def test_the_main_table_is_whole(dataset):
    table = published().beside("main-table", dataset)
    assert list(table.rows) == MODELS.split()
    metrics = {"recall@1", "recall@5", "recall@10", "ndcg@5", "ndcg@10"}
    for figures in table.rows.values():
        assert set(figures) == metrics
        assert figures["recall@1"] <= figures["ndcg@5"] <= figures["recall@5"] <= figures["recall@10"]


def test_the_ablation_agrees_with_the_main_table():
    for dataset in ("Scientific", "Instrument", "Game"):
        ours = published().beside("main-table", dataset).rows["llada-rec"]
        for section, row in (("tokenizers", "multi-head-vqvae"), ("training", "both losses")):
            assert published().beside(section, dataset).rows[row] == {k: ours[k] for k in ("recall@5", "ndcg@5")}
    assert published().beside("inference", "Game").rows["without beam search"]["recall@5"] == 0.0162


def test_other_data_sees_the_papers_scientific_and_no_figures_of_others():
    assert published().beside("main-table", None).dataset == "Scientific"
    assert published().by_others("main-table", None) == []
    assert published().beside("lambda", None) is None


def test_beauty_has_what_others_measured():
    found = {table.source: table.rows for table in published().by_others("main-table", "Beauty 2014")}
    assert found["TIGER paper"]["tiger"]["ndcg@10"] == 0.0384
    assert found["RecBole, full cross-entropy"]["sasrec-ce"]["recall@10"] == 0.0821


def test_statistics_fit_together():
    for row in published().data.values():
        assert row["interactions"] / row["users"] == pytest.approx(row["average_length"], abs=0.006)
        assert 1 - row["interactions"] / (row["users"] * row["items"]) == pytest.approx(row["sparsity"], abs=6e-6)
