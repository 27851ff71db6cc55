from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sidrec.models.registry import load_model
from sidrec.models.request import Request
from sidrec.reports.examples import user_examples

pytestmark = pytest.mark.slow


def test_users_have_their_history_list_truth_and_trace(bench, out):
    found = user_examples(bench, 3)
    assert (found.model, found.dataset, len(found.users)) == ("llada-rec", "shop", 3)
    data = bench.data("shop")
    cases, titles = data.cases("test"), data.catalog.titles
    record = next(record for record in bench.records if record.label == "llada-rec")
    model = load_model(out / record.model)
    for user in found.users:
        place = data.user_ids.to_list().index(user.user_id)
        assert user.history == [titles[item] for item in cases.histories[place]]
        assert user.came_next == titles[cases.targets[place]]
        ranked = model.rank(Request(cases.histories.take(np.array([place])), 10)).items[0]
        assert user.listed == [titles[item] for item in ranked if item >= 0]
        assert user.rank == (user.listed.index(user.came_next) + 1 if user.came_next in user.listed else None)
        assert user.trace[0].startswith("Step 1 of 2")


def test_hits_and_misses_are_both_shown(bench):
    row = next(row for section in bench.sections for row in section.rows if row.label == "llada-rec")
    ranks = row.test[0].ranks["rank"].to_numpy()
    shown = {user.rank is not None for user in user_examples(bench, 3).users}
    assert shown == {True, False} or (ranks >= 0).all() or (ranks < 0).all()


def test_without_a_model_that_explains_there_are_none(bench):
    main = bench.sections[0]
    floor = replace(main, rows=tuple(row for row in main.rows if row.label == "popularity"))
    assert user_examples(replace(bench, sections=(floor,)), 3) is None
