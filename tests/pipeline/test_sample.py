from __future__ import annotations

import numpy as np

from sidrec.data.synthetic import demo_shop
from sidrec.pipeline.sample import sample_users


def test_sampled_users_keep_their_sequences_split_and_times():
    whole = demo_shop(n_items=200, n_users=50, seed=3)
    part = sample_users(whole, 7, seed=1)
    assert part.n_users == 7
    whole_ids, part_ids = whole.catalog.item_ids.to_list(), part.catalog.item_ids.to_list()
    for user, user_id in enumerate(part.user_ids.to_list()):
        there = whole.user_ids.to_list().index(user_id)
        assert [part_ids[i] for i in part.sequences[user]] == [whole_ids[i] for i in whole.sequences[there]]
        assert part.train_ends[user] == whole.train_ends[there]
        assert part.validation_ends[user] == whole.validation_ends[there]
        begin, end = part.sequences.offsets[user : user + 2]
        first, last = whole.sequences.offsets[there : there + 2]
        assert part.timestamps[begin:end].tolist() == whole.timestamps[first:last].tolist()


def test_items_that_nobody_has_are_left_out():
    part = sample_users(demo_shop(n_items=200, n_users=50, seed=3), 4)
    assert np.unique(part.sequences.items).tolist() == list(range(part.n_items))


def test_a_small_data_set_stays_as_it_is():
    whole = demo_shop(n_items=100, n_users=10)
    assert sample_users(whole, 10) is whole
