from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.hand_models import category_scores, popularity_scores, recall_at, transition_scores
from sidrec.core.errors import InputError
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import clusters, cycle, demo_shop, habits
from sidrec.data.synthetic.assemble import leave_one_out_dataset
from sidrec.data.synthetic.demo_words import MISSIONS


@pytest.fixture(scope="module")
def shop() -> Dataset:
    return demo_shop()


def test_cycle_always_goes_on_by_one():
    data = cycle(n_items=7, n_users=50, length=9, seed=3)
    for row in data.sequences:
        assert ((row[1:] - row[:-1]) % 7 == 1).all()
    assert len({int(row[0]) for row in data.sequences}) == 7
    assert data.catalog.frame["title"].n_unique() == 7


def test_cycle_is_solved_by_counting_transitions():
    data = cycle()
    cases = data.cases("test")
    assert recall_at(transition_scores(data, cases.histories), cases.targets, 1) == 1.0
    assert recall_at(popularity_scores(data, cases.histories), cases.targets, 1) < 0.1


def test_clusters_keep_users_at_home_and_share_text():
    data = clusters(n_clusters=4, cluster_size=6, n_users=60, length=5, seed=1)
    for row in data.sequences:
        assert len({int(item) // 6 for item in row}) == 1
        assert len(set(row.tolist())) == 5
    groups = data.catalog.frame.with_row_index("item").group_by("title").agg(pl.col("item") // 6)
    assert groups.height == 4
    assert all(len(set(homes)) == 1 and len(homes) == 6 for homes in groups["item"])


def test_habits_come_again_two_places_later_or_are_new():
    data = habits(n_users=400, length=10, again=0.8)
    rows = np.stack(list(data.sequences))
    again = rows[:, 2:] == rows[:, :-2]
    assert again.mean() == pytest.approx(0.8, abs=0.03)
    for row, soon in zip(rows, again, strict=True):
        new = [place + 2 for place in np.flatnonzero(~soon)]
        assert all(row[place] not in row[:place] for place in new)


@pytest.mark.parametrize("make", [cycle, clusters, demo_shop, habits])
@pytest.mark.slow
def test_leave_one_out_and_seeds(make):
    data = make(seed=5)
    lengths = data.sequences.lengths
    assert (data.train_ends == lengths - 2).all()
    assert (data.validation_ends == lengths - 1).all()
    assert data.cases("test").targets.tolist() == [int(row[-1]) for row in data.sequences]
    again, other = make(seed=5), make(seed=6)
    assert again.fingerprint == data.fingerprint != other.fingerprint
    assert again.sequences.items.tolist() == data.sequences.items.tolist()


def test_fingerprint_follows_every_part(shop):
    frame, sequences, stamps = shop.catalog.frame, shop.sequences, shop.timestamps
    renamed = frame.with_columns(pl.when(pl.col("item_id") == "P00007").then(pl.lit("x")).otherwise("title"))
    made = [
        shop,
        leave_one_out_dataset(renamed, sequences, stamps),
        leave_one_out_dataset(frame, sequences.take(np.arange(10)), None),
        leave_one_out_dataset(frame, sequences, None),
    ]
    assert len({data.fingerprint for data in made}) == 4
    assert leave_one_out_dataset(frame, sequences, stamps).fingerprint == shop.fingerprint


def test_shop_has_the_shape_of_a_five_core_set(shop):
    lengths = shop.sequences.lengths
    assert (shop.n_items, shop.n_users) == (2000, 3000)
    assert lengths.min() == 5
    assert lengths.max() <= 30
    assert 7.5 < lengths.mean() < 8.5
    assert all(len(set(row.tolist())) == len(row) for row in shop.sequences)
    for row in range(shop.n_users):
        stamps = shop.timestamps[shop.sequences.offsets[row] : shop.sequences.offsets[row + 1]]
        assert (np.diff(stamps) > 0).all()


def test_shop_catalogue_reads_like_a_shop(shop):
    frame = shop.catalog.frame
    assert frame["item_id"].n_unique() == 2000
    assert frame["title"].n_unique() > 1900
    espresso = frame.filter(pl.col("categories").list.contains("Burr grinder"))
    assert espresso.height >= 10
    assert espresso["title"].str.contains("mm portafilter").all()
    assert (frame["description"].str.len_chars() > 40).all()
    assert frame.filter(pl.col("brand") == "Grünwald").height > 0


def test_every_mission_has_three_fits_and_six_stages():
    for mission in MISSIONS:
        assert len(mission.fits) == 3
        assert len(mission.stages) == 6
        assert all(stage.count(": ") == 1 for stage in mission.stages)
    products = [stage.split(": ")[0] for mission in MISSIONS for stage in mission.stages]
    assert len(set(products)) == len(products)


@pytest.mark.slow
def test_order_and_content_both_beat_popularity(shop):
    cases = shop.cases("test")
    popular = recall_at(popularity_scores(shop, cases.histories), cases.targets, 10)
    assert recall_at(transition_scores(shop, cases.histories), cases.targets, 10) > 3 * popular
    assert recall_at(category_scores(shop, cases.histories), cases.targets, 10) > 3 * popular


def test_text_serves_the_long_tail_better_than_transitions(shop):
    cases = shop.cases("test")
    rare = np.flatnonzero(shop.train_counts()[cases.targets] < 5)
    assert len(rare) > 100
    tail = cases.take(rare)
    by_text = recall_at(category_scores(shop, tail.histories), tail.targets, 10)
    assert by_text > recall_at(transition_scores(shop, tail.histories), tail.targets, 10)


def test_shoppers_stay_with_fit_and_brand(shop):
    fit = shop.catalog.frame["features"].list.first().to_numpy()
    brand = shop.catalog.frame["brand"].to_numpy()
    mission = shop.catalog.frame["categories"].list.get(1).to_numpy()
    pairs = [(a, b) for row in shop.sequences for a, b in itertools.pairwise(row)]
    inside = [(a, b) for a, b in pairs if mission[a] == mission[b] and a != b]
    assert len(inside) > 0.6 * len(pairs)
    assert np.mean([fit[a] == fit[b] for a, b in inside]) > 0.6
    assert np.mean([brand[a] == brand[b] for a, b in inside]) > 0.35


@settings(max_examples=15, deadline=None)
@given(st.integers(40, 400), st.integers(1, 60), st.integers(0, 1000))
def test_any_size_of_shop_is_whole(n_items, n_users, seed):
    data = demo_shop(n_items, n_users, seed)
    assert data.n_items == n_items
    assert data.n_users == n_users
    assert data.sequences.items.min() >= 0
    assert data.sequences.items.max() < n_items
    assert data.sequences.offsets[-1] == len(data.sequences.items)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cycle(length=2),
        lambda: cycle(n_users=0),
        lambda: clusters(cluster_size=3, length=4),
        lambda: habits(n_items=5, length=6),
        lambda: demo_shop(n_items=39),
        lambda: demo_shop(n_users=0),
    ],
)
def test_impossible_sizes_are_refused_in_words(make):
    with pytest.raises(InputError, match=r"need"):
        make()
