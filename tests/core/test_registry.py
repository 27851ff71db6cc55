"""Own models and tokenizers become known without a change of the package."""

from __future__ import annotations

from importlib import metadata

import pytest

import sidrec
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.data.synthetic import cycle
from sidrec.models import registry as models
from sidrec.models.popularity import Popularity
from sidrec.sids import registry as tokenizers
from sidrec.sids.opq import OPQ


class Loudest(Popularity):
    """What was bought most, said louder."""

    key = "loudest"


class Turned(OPQ):
    """OPQ by another name."""

    key = "turned"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for registry in (models.REGISTRY, tokenizers.REGISTRY):
        monkeypatch.setattr(registry, "added", {})
        monkeypatch.setattr(registry, "_offered", {})


def offer(monkeypatch, *entries: metadata.EntryPoint) -> None:
    def found(group: str, name: str | None = None) -> list[metadata.EntryPoint]:
        return [entry for entry in entries if entry.group == group and name in (None, entry.name)]

    monkeypatch.setattr(metadata, "entry_points", found)


def test_a_registered_model_is_one_among_others_and_loads(tmp_path):
    assert sidrec.register(Loudest) is Loudest
    assert "loudest" in [row.key for row in sidrec.models()]
    assert "What was bought most, said louder" in repr(sidrec.models())
    path = sidrec.model("loudest").fit(cycle(n_items=5, n_users=8)).save(tmp_path / "model")
    assert isinstance(sidrec.load(path), Loudest)
    models.REGISTRY.added.clear()
    with pytest.raises(ArtifactError, match="saved by the model 'loudest', which is not known here; install"):
        sidrec.load(path)


def test_a_class_may_have_another_row_with_defaults():
    sidrec.register(sidrec.SASRec, key="sasrec-wide", defaults={"d_model": 128})
    made = sidrec.model("sasrec-wide")
    assert (made.key, made.settings.d_model) == ("sasrec-wide", 128)


def test_a_registered_tokenizer_gives_ids():
    sidrec.register(Turned)
    data = cycle(n_items=12, n_users=8)
    ids = sidrec.tokenize(sidrec.embed(data, encoder="tfidf"), tokenizer="turned", codebook_size=4, n_codes=3)
    assert (ids.tokenizer.key, ids.ids.n_unique) == ("turned", 12)


def test_a_key_belongs_to_one_class():
    with pytest.raises(SettingsError, match=r"the key 'sasrec' is taken by sidrec\.models\.sasrec\.SASRec; choose"):
        sidrec.register(Loudest, key="sasrec")
    sidrec.register(Loudest)
    sidrec.register(Loudest)  # as a notebook does when a cell is run again
    with pytest.raises(SettingsError, match="the key 'loudest' is taken by"):
        sidrec.register(Popularity, key="loudest")
    with pytest.raises(SettingsError, match="not a class of models: it must inherit from Recommender"):
        sidrec.register(dict)


def test_another_package_offers_rows_by_entry_points(monkeypatch):
    place = f"{__name__}:Loudest"
    entry = metadata.EntryPoint("loudest", "sidrec.models:x", "sidrec.models")
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: {"loudest": Loudest, "turned": Turned}[self.name])
    offer(monkeypatch, entry, metadata.EntryPoint("turned", place, "sidrec.tokenizers"))
    assert sidrec.models()[-1].key == "loudest"
    assert isinstance(sidrec.model("loudest"), Loudest)
    assert tokenizers.find_tokenizer("turned").load_class() is Turned


def test_a_broken_entry_point_is_one_warning(monkeypatch):
    offer(monkeypatch, metadata.EntryPoint("broken", "no_such_package.models:Thing", "sidrec.models"))
    with pytest.warns(UserWarning, match="the model 'broken' of the package no_such_package.models:Thing cannot be"):
        rows = sidrec.models()
    assert "broken" not in [row.key for row in rows]
    with pytest.raises(SettingsError, match="'brokem' is not a model"):
        sidrec.model("brokem")  # and no second warning
