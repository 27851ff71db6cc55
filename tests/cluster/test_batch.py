"""On Ray the same bytes come out, whoever dies."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sidrec
from sidrec.cluster.batch import Actors, _Answering
from sidrec.core.errors import InputError, SettingsError, SidrecError
from sidrec.core.storage import sha256_of
from sidrec.data.synthetic import demo_shop
from sidrec.models.content import content_of
from sidrec.models.popularity import Popularity
from sidrec.models.registry import load_model
from sidrec.pipeline.recommend_files import placed, recommend_files

N_USERS = 45


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("batch")
    shop = demo_shop(n_items=60, n_users=30)
    shop.save(home / "data")
    Popularity().fit(shop, progress=False).save(home / "model")
    ids = [*shop.catalog.item_ids.to_list(), "nowhere"]
    (home / "users").mkdir()
    for name in ("a", "b"):
        rows = [[ids[(7 * user + place) % len(ids)] for place in range(user % 7)] for user in range(N_USERS)]
        frame = pl.DataFrame({"user_id": [f"{name}{user}" for user in range(N_USERS)], "history": rows})
        frame.write_parquet(home / "users" / f"{name}.parquet", row_group_size=20)
    (home / "users" / "c.csv").write_text("user_id,history\nc1,\nc2,nowhere\n")
    return home


def test_a_crew_of_nobody_is_refused():
    with pytest.raises(SettingsError, match="give at least one"):
        Actors(0)


def test_a_file_that_is_replaced_meanwhile_is_refused_before_a_part_is_made_of_it(home, tmp_path):
    users, model = tmp_path / "users.parquet", load_model(home / "model")
    shutil.copy(home / "users" / "a.parquet", users)
    actor = _Answering(None, load=lambda: model, content=content_of(model), asked={"k": 2}, titles=False)

    def answer(begin: int, content: str):
        piece = {"job": 0, "path": str(users), "content": content, "begin": begin, "rows": 8, "size": 8}
        return actor.answer({name: np.array([value]) for name, value in piece.items()})

    old = sha256_of(users)
    first = answer(0, old)["part"]
    os.utime(users)  # touched, but the same
    assert answer(0, old)["part"] == first
    for replace in (lambda: shutil.copy(home / "users" / "b.parquet", users), users.unlink):
        replace()
        with pytest.raises(InputError, match="was replaced while its users were recommended to"):
            answer(8, old)
    shutil.copy(home / "users" / "b.parquet", users)
    assert answer(0, sha256_of(users))["part"] != first


@pytest.mark.slow
def test_files_are_those_of_the_local_way_though_an_actor_is_killed_and_finished_ones_are_kept(home, two_processors):
    model, died = load_model(home / "model"), home / "died"
    wish = {"k": 4, "exclude_seen": True, "batch_users": 8, "titles": True}

    def load():
        """One actor of the crew dies over its third piece, once."""
        found = load_model(home / "model")
        answer, asked = found.recommend, []

        def recommend(*histories, **request):
            asked.append(1)
            if len(asked) == 3 and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return answer(*histories, **request)

        found.recommend = recommend
        return found

    places = {name: placed([str(home / "users")], home / name) for name in ("here", "far")}
    recommend_files(model, places["here"], **wish)
    recommend_files(model, places["far"][:1], **wish)
    done = recommend_files(model, places["far"], filling=Actors(1).filling(load), **wish)
    assert died.exists()
    assert [one.skipped for one in done] == [True, False, False]
    assert [one.users for one in done] == [N_USERS, N_USERS, 2]
    for (_, here), (_, far) in zip(*places.values(), strict=True):
        assert here.read_bytes() == far.read_bytes()
    assert sorted(file.name for file in (home / "far").iterdir()) == ["a.parquet", "b.parquet", "c.parquet"]

    (home / "far" / "a.parquet").unlink()
    with pytest.raises(InputError, match="the model was replaced"):  # and said in our words
        recommend_files(model, places["far"], filling=Actors(1).filling(other_model(home)), **wish)


def other_model(home: Path):
    def load():
        return Popularity().fit(demo_shop(n_items=50, n_users=20), progress=False)

    return load


@pytest.mark.slow
def test_vectors_are_those_of_the_local_way(home, two_processors):
    here = sidrec.embed(home / "data", encoder="tfidf", out=home / "vectors")
    far = sidrec.embed(home / "data", encoder="tfidf", out=home / "far-vectors", elsewhere=Actors(1).encode)
    assert (here.vectors == far.vectors).all()
    assert here.fingerprint == far.fingerprint
    with pytest.raises(InputError, match="vectors are given"):
        sidrec.embed(home / "data", vectors=here.vectors, elsewhere=Actors(1).encode)


@pytest.mark.slow
def test_a_piece_that_kills_every_actor_is_given_up_in_words(home, two_processors):
    model = load_model(home / "model")

    def load():
        found = load_model(home / "model")
        found.recommend = lambda *_, **__: os._exit(9)
        return found

    places = placed([str(home / "users" / "c.csv")], home / "given-up")
    with pytest.raises(SidrecError, match="4 workers died over the same piece"):
        recommend_files(model, places, filling=Actors(1).filling(load), k=4)
