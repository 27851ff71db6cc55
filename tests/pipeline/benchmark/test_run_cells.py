from __future__ import annotations

import pytest

from reference.small_plan import small_plan, small_shop
from sidrec.core.errors import InputError
from sidrec.core.progress import SilentProgress
from sidrec.data.dataset import Dataset
from sidrec.evaluation.results import Evaluation
from sidrec.pipeline.benchmark.cells import Places, cells_of
from sidrec.pipeline.benchmark.run_cells import finished_record, message_of, prepare_data, run_cells


@pytest.fixture
def plan(tmp_path):
    return small_plan(small_shop(tmp_path))


def test_a_source_is_prepared_and_sampled_to_the_scale(tmp_path):
    (tmp_path / "raw").mkdir()
    lines = [f"u{user},i{(user + step) % 9},{step}" for user in range(700) for step in range(5)]
    text = "\n".join(["user_id,item_id,timestamp", *lines])
    (tmp_path / "raw" / "interactions.csv").write_text(text, encoding="utf-8")
    plan = small_plan(tmp_path / "raw")
    prepare_data(plan, "shop", Places(tmp_path / "out"), SilentProgress())
    assert Dataset.load(tmp_path / "out" / "data" / "shop").n_users == plan.size.users == 600


def test_the_demo_shop_has_the_size_of_the_scale(tmp_path):
    plan = small_plan(tmp_path, datasets={"demo": {"source": "demo"}})
    prepare_data(plan, "demo", Places(tmp_path / "out"), SilentProgress())
    data = Dataset.load(tmp_path / "out" / "data" / "demo")
    assert (data.n_items, data.n_users) == plan.size.shop


def test_a_cell_is_finished_only_on_the_data_it_was_run_on(plan, tmp_path):
    places = Places(tmp_path / "out")
    cell = cells_of(plan)[0]
    prepare_data(plan, "shop", places, SilentProgress())
    assert finished_record(plan, cell, places) is None
    (record,) = run_cells(plan, [cell], places, SilentProgress())
    assert record.status == "done"
    found = finished_record(plan, cell, places)
    assert found is not None and found.status == "skipped" and found.figures == record.figures
    other = small_plan(tmp_path, datasets={"shop": {"source": "demo"}})
    prepare_data(other, "shop", places, SilentProgress())
    assert finished_record(other, cell, places) is None


def test_sections_with_and_without_the_users_own_items_share_one_model(tmp_path):
    rows = {"title": "M", "models": ["popularity"]}
    sections = [{"name": "all", **rows}, {"name": "unseen", "exclude_seen": True, **rows}]
    plan, places = small_plan(small_shop(tmp_path), section=sections), Places(tmp_path / "out")
    cells = cells_of(plan)
    prepare_data(plan, "shop", places, SilentProgress())
    seen, unseen = run_cells(plan, cells, places, SilentProgress())
    assert seen.model == unseen.model and seen.test != unseen.test
    kept = [Evaluation.load(places.out / record.test).exclude_seen for record in (seen, unseen)]
    assert kept == [False, True]
    assert all(finished_record(plan, cell, places) for cell in cells)


def test_known_errors_speak_for_themselves_and_others_say_their_kind():
    assert message_of(InputError("no such\n item")) == "no such item"
    assert message_of(KeyError("x")) == "KeyError: 'x'"
    assert message_of(ValueError()) == "ValueError: no further words"
