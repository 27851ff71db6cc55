"""A batch job gives what single calls give, a piece at a time, killed or not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidrec.core.errors import InputError, StorageError
from sidrec.core.notices import SidrecWarning
from sidrec.data.synthetic import demo_shop
from sidrec.models.content import content_of
from sidrec.models.popularity import Popularity
from sidrec.models.ranking import Recommendations
from sidrec.pipeline.recommend_many import recommend_many

N_USERS = 53


@pytest.fixture(scope="module")
def shop():
    return demo_shop(n_items=60, n_users=30)


@pytest.fixture(scope="module")
def model(shop):
    return Popularity().fit(shop)


def histories(shop) -> list[list[str]]:
    """Of every length from 0 to 6, some with an unknown item."""
    ids = [*shop.catalog.item_ids.to_list(), "nowhere"]
    return [[ids[(7 * user + place) % len(ids)] for place in range(user % 7)] for user in range(N_USERS)]


@pytest.fixture
def users(tmp_path, shop) -> Path:
    frame = pl.DataFrame({"user_id": [f"u{user}" for user in range(N_USERS)], "history": histories(shop)})
    frame.write_parquet(tmp_path / "users.parquet", row_group_size=20)
    return tmp_path / "users.parquet"


def same_rows(frame: pl.DataFrame, answer: Recommendations) -> bool:
    scores = [[pytest.approx(score) for score in row] for row in answer.scores]
    return (
        frame["item_ids"].to_list() == answer.item_ids
        and frame["scores"].to_list() == scores
        and frame["fallback"].to_list() == answer.fallback
        and frame["unknown_items"].to_list() == answer.unknown_items
    )


@pytest.mark.parametrize("batch_users", [1, 10, 20, 1000])
def test_pieces_equal_one_call(batch_users, model, shop, users, tmp_path):
    request = {"k": 4, "exclude_seen": True, "deny": {"categories": ["Kitchen"]}}
    summary = recommend_many(model, users, tmp_path / "out.parquet", batch_users=batch_users, titles=True, **request)
    answer = model.recommend(histories(shop), **request)
    frame = pl.read_parquet(tmp_path / "out.parquet")
    assert frame.columns == ["user_id", "item_ids", "scores", "fallback", "unknown_items", "titles"]
    assert frame["user_id"].to_list() == [f"u{user}" for user in range(N_USERS)]
    assert same_rows(frame, answer)
    assert frame["titles"].to_list() == answer.titles
    assert (summary.users, summary.fallback) == (N_USERS, sum(answer.fallback))
    assert summary.unknown_items == sum(answer.unknown_items) > 0
    assert not list(tmp_path.glob(".out*")), "nothing unfinished is left"


def test_titles_are_left_out_unless_asked_for(model, users, tmp_path):
    recommend_many(model, users, tmp_path / "out.parquet", k=2)
    assert "titles" not in pq.read_schema(tmp_path / "out.parquet").names


def test_every_user_of_an_empty_allowance_gets_an_empty_list(model, users, tmp_path):
    with pytest.warns(SidrecWarning, match="'nowhere'"):
        recommend_many(model, users, tmp_path / "out.parquet", allow=["nowhere"], batch_users=7)
    assert pl.read_parquet(tmp_path / "out.parquet")["item_ids"].to_list() == [[]] * N_USERS


KILLED = """
import os, signal, sys
from pathlib import Path
from sidrec.core.progress import SilentProgress
from sidrec.models.registry import load_model
from sidrec.pipeline.recommend_many import recommend_many

class Killer(SilentProgress):
    left = 3
    def task(self, name, total=None):
        return self
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return None
    def advance(self, amount=1, **figures):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
model = load_model(folder / "model")
users, out = folder / "users.parquet", folder / "out.parquet"
recommend_many(model, users, out, batch_users=8, exclude_seen=True, progress=Killer())
"""


class Notes:
    """Progress that remembers what was said."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.advanced: list[int] = []

    def task(self, name, total=None):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def advance(self, amount=1, **figures):
        self.advanced.append(amount)

    def note(self, text):
        self.notes.append(text)


@pytest.mark.slow
def test_a_killed_job_goes_on_to_the_same_bytes(model, users, tmp_path):
    model.save(tmp_path / "model")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (work,) = tmp_path.glob(".out.parquet.work-*")
    assert sorted(file.name for file in work.iterdir()) == ["0.parquet", "16.parquet", "8.parquet"]
    assert not (tmp_path / "out.parquet").exists()
    said = Notes()
    recommend_many(model, users, tmp_path / "out.parquet", batch_users=8, exclude_seen=True, progress=said)
    assert said.notes == [f"{tmp_path / 'out.parquet'}: going on after 24 users."]
    assert said.advanced == [24, 8, 8, 8, 5]
    recommend_many(model, users, tmp_path / "whole.parquet", batch_users=8, exclude_seen=True)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not work.exists()


def test_finished_work_is_skipped_and_other_work_replaces_it(model, users, tmp_path):
    out = tmp_path / "out.parquet"
    recommend_many(model, users, out, k=3)
    said = Notes()
    (tmp_path / f".{out.name}.lock").touch()  # of a writer that died after its last step
    assert recommend_many(model, users, out, k=3, progress=said).skipped
    assert list(tmp_path.glob(".*")) == []
    assert said.notes == [f"{out}: already there, skipped."] and said.advanced == []
    with pytest.raises(StorageError, match=r"holds other recommendations.*nothing was touched"):
        recommend_many(model, users, out, k=2)
    assert pl.read_parquet(out)["item_ids"].list.len().to_list() == [3] * N_USERS
    assert not recommend_many(model, users, out, k=2, replace=True).skipped
    assert pl.read_parquet(out)["item_ids"].list.len().to_list() == [2] * N_USERS


def test_another_model_with_the_same_origin_replaces_the_answers(shop, users, tmp_path):
    """Trained elsewhere, or changed by hand: what counts is what is in it."""
    first, second = Popularity().fit(shop), Popularity().fit(shop)
    second._stock = replace(second.stock, counts=second.stock.counts[::-1].copy())
    assert first.origin(first.trained_on) == second.origin(second.trained_on)
    rows = []
    for model, skipped in ((first, False), (second, False), (second, True)):
        assert recommend_many(model, users, tmp_path / "recs.parquet", replace=True).skipped == skipped
        rows.append(pl.read_parquet(tmp_path / "recs.parquet")["item_ids"].to_list())
    assert rows[0] != rows[1] == rows[2]


def test_parts_of_another_job_are_not_taken(model, users, tmp_path):
    """Other users under the same name: nothing of the old job may slip in."""
    out = tmp_path / "out.parquet"
    recommend_many(model, users, out, k=3)
    pl.DataFrame({"user_id": [1, 2], "history": [["nowhere"], []]}).write_parquet(users)
    assert recommend_many(model, users, out, k=3, replace=True).users == 2
    assert pl.read_parquet(out)["user_id"].to_list() == [1, 2]


def test_long_filters_are_told_apart(model, shop, users, tmp_path):
    """A data frame's column prints shortened; two that differ in the middle are still two jobs."""
    ids = shop.catalog.item_ids
    recommend_many(model, users, tmp_path / "out.parquet", deny=ids[:30])
    middle = ids[:30].to_list()
    middle[15] = ids[40]
    changed = pl.Series(middle)
    assert not recommend_many(model, users, tmp_path / "out.parquet", deny=changed, replace=True).skipped
    assert recommend_many(model, users, tmp_path / "out.parquet", deny=middle).skipped


def test_a_filter_that_can_be_read_once_holds_for_every_batch(model, shop, users, tmp_path):
    denied = shop.catalog.item_ids[:50].to_list()
    recommend_many(model, users, tmp_path / "out.parquet", deny=iter(denied), batch_users=7)
    found = pl.read_parquet(tmp_path / "out.parquet")["item_ids"].to_list()
    assert not {item_id for row in found for item_id in row} & set(denied)


def test_denied_columns_and_denied_text_are_two_jobs(model, users, tmp_path):
    brand = model.catalog.frame["brand"][0]
    recommend_many(model, users, tmp_path / "out.parquet", deny={"brand": brand, "categories": "Kitchen"})
    words = f"brand={brand} and categories=Kitchen"
    assert not recommend_many(model, users, tmp_path / "out.parquet", deny=words, replace=True).skipped


def test_a_strange_file_in_the_way_is_left_alone(model, users, tmp_path):
    for name, content in (("notes.csv", b"mine"), ("users.parquet", users.read_bytes())):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StorageError, match="was not written by sidrec, nothing was touched"):
            recommend_many(model, users, tmp_path / name)
        assert (tmp_path / name).read_bytes() == content


def test_the_file_says_what_it_was_made_from(model, users, tmp_path):
    recommend_many(model, users, tmp_path / "out.parquet", k=3)
    mark = json.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"sidrec"])
    assert mark["made_from"]["model"] == content_of(model)
    assert mark["settings"]["k"] == 3


def test_memory_does_not_grow_with_the_file(model, tmp_path):
    """One row group of 20,000 users: never more than a piece of them is in memory."""
    n_users, seen, allocated = 20_000, [], []
    history = pa.array([["a long item id" * 40]] * n_users, pa.list_(pa.string()))
    table = pa.table({"user_id": pa.array(range(n_users)), "history": history})
    whole = table.nbytes
    pq.write_table(table, tmp_path / "many.parquet", row_group_size=n_users, compression="none", use_dictionary=False)
    del table, history

    class Spy(Popularity):
        def recommend(self, histories, k=10, **request):
            seen.append(len(histories))
            allocated.append(pa.total_allocated_bytes())
            n = len(histories)
            return Recommendations([["a"]] * n, [["A"]] * n, [[0.0]] * n, [False] * n, [0] * n)

    spy = Spy()
    spy.__dict__.update(model.__dict__)
    before = pa.total_allocated_bytes()
    assert recommend_many(spy, tmp_path / "many.parquet", tmp_path / "out.parquet", batch_users=1000).users == n_users
    assert seen == [1000] * 20
    assert max(allocated) - before < whole / 2


def test_mistakes(model, users, tmp_path):
    with pytest.raises(InputError, match="batch_users is 0"):
        recommend_many(model, users, tmp_path / "out.parquet", batch_users=0)
    with pytest.raises(InputError, match="k is 0"):
        recommend_many(model, users, tmp_path / "out.parquet", k=0)
    with pytest.raises(InputError, match="no such file"):
        recommend_many(model, tmp_path / "nobody.parquet", tmp_path / "out.parquet")


def test_models_that_know_users_are_told_who_asks(shop, users, tmp_path) -> None:
    class Listening(Popularity):
        def recommend(self, histories, k=10, *, users=None, **rest):
            asked.extend(users)
            return super().recommend(histories, k, users=users, **rest)

    asked: list[str] = []
    recommend_many(Listening().fit(shop), users, tmp_path / "out.parquet", batch_users=20)
    assert asked == [f"u{user}" for user in range(N_USERS)]


def test_users_by_id_from_the_training_data_to_text(model, shop, tmp_path):
    ids = [*shop.user_ids.to_list()[:4], "stranger"]
    (tmp_path / "users.csv").write_text("\n".join(["user_id", *ids]) + "\n", encoding="utf-8")
    asked = {"k": 3, "exclude_seen": True, "interactions": shop}
    summary = recommend_many(model, tmp_path / "users.csv", tmp_path / "out.csv", titles=True, batch_users=2, **asked)
    assert (summary.users, summary.unknown_users, summary.fallback) == (5, 1, 1)
    answer = model.recommend([*(shop.history(user) for user in ids[:4]), []], k=3, exclude_seen=True)
    rows = pl.read_csv(tmp_path / "out.csv").rows()
    wanted = [
        (user, place, item_id, pytest.approx(score), title, user == "stranger")
        for user, *lists in zip(ids, answer.item_ids, answer.scores, answer.titles, strict=True)
        for place, (item_id, score, title) in enumerate(zip(*lists, strict=True), start=1)
    ]
    assert rows == wanted
    recommend_many(model, tmp_path / "users.csv", tmp_path / "out.jsonl", batch_users=2, **asked)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["item_ids"] for line in lines] == answer.item_ids
    assert not list(tmp_path.glob(".out*")), "nothing unfinished is left"


def test_text_is_replaced_only_when_it_is_ours_and_asked_for(model, shop, tmp_path, users):
    out = tmp_path / "out.csv"
    recommend_many(model, users, out, k=2)
    with pytest.raises(StorageError, match="holds recommendations, of which text cannot tell"):
        recommend_many(model, users, out, k=3)
    recommend_many(model, users, out, k=3, replace=True)
    assert pl.read_csv(out)["place"].max() == 3
    out.write_text("my,own,table\n", encoding="utf-8")
    with pytest.raises(StorageError, match="was not written by sidrec"):
        recommend_many(model, users, out, k=3, replace=True)
    assert out.read_text(encoding="utf-8") == "my,own,table\n"


def test_interactions_from_a_file_with_other_columns(model, shop, tmp_path):
    ids = shop.catalog.item_ids.to_list()
    (tmp_path / "week.csv").write_text(f"Kunde;sku\nK1;{ids[0]}\nK1;{ids[1]}\n", encoding="utf-8")
    (tmp_path / "users.csv").write_text("user_id\nK1\n", encoding="utf-8")
    columns = {"user_id": "Kunde", "item_id": "sku"}
    how = {"k": 4, "exclude_seen": True, "interactions": tmp_path / "week.csv", "columns": columns}
    recommend_many(model, tmp_path / "users.csv", tmp_path / "out.parquet", **how)
    answer = model.recommend([ids[:2]], k=4, exclude_seen=True)
    assert pl.read_parquet(tmp_path / "out.parquet")["item_ids"].to_list() == answer.item_ids
    with pytest.raises(InputError, match="trained on data in memory; give the interactions"):
        recommend_many(model, tmp_path / "users.csv", tmp_path / "other.parquet")
