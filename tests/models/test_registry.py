from __future__ import annotations

import pytest

from sidrec.core.artifacts import Origin, open_artifact, write
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.data.synthetic import clusters
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.popularity import Popularity
from sidrec.models.registry import MODELS, ModelRow, find_model, load_model
from sidrec.models.sasrec import SASRec


def test_keys_are_unique_and_found():
    keys = [row.key for row in MODELS]
    assert len(set(keys)) == len(keys)
    assert find_model("popularity").load_class() is Popularity


def test_a_misspelt_model_gets_the_nearest_name():
    with pytest.raises(SettingsError, match="'popularty' is not a model; did you mean popularity"):
        find_model("popularty")
    with pytest.raises(SettingsError, match=r"known models: popularity"):
        find_model("zzzz")


@pytest.mark.parametrize("settings", [{"model": "from-the-future"}, {}])
def test_a_model_of_another_version_is_refused(tmp_path, settings):
    with write(tmp_path / "model", Origin("model", settings)):
        pass
    with pytest.raises(ArtifactError, match="which is not known here; install its package or register it first"):
        load_model(tmp_path / "model")


def test_another_artefact_is_no_model(tmp_path):
    with write(tmp_path / "data", Origin("dataset")):
        pass
    with pytest.raises(ArtifactError, match="is a dataset artefact, a model artefact is needed"):
        load_model(tmp_path / "data")


WIDE = ModelRow(
    "wide",
    "sidrec.models.llada_rec.recommender",
    "LLaDARec",
    "semantic-id",
    "a row of its own",
    {
        "d_model": 32,
        "training": {"epochs": 3},
        "search": {"order": "left-to-right"},
        "tokenize": {"tokenizer": "rq-vae", "options": {"hidden": [8]}},
    },
)


def test_a_row_has_defaults_of_its_own_and_the_users_are_laid_over_them():
    model = WIDE.make(training={"batch_size": 8}, beam_size=7, n_heads=4)
    assert isinstance(model, LLaDARec) and model.key == "wide"
    settings = model.settings
    assert (settings.d_model, settings.n_heads) == (32, 4)
    assert (settings.training.epochs, settings.training.batch_size) == (3, 8)
    assert (settings.search.order, settings.search.beam_size) == ("left-to-right", 7)
    assert WIDE.build({"d_model": 16}, where="here").settings.d_model == 16
    assert WIDE.settings({}, where="here").search.order == "left-to-right"
    with pytest.raises(SettingsError, match=r"here: model\.d_modle is not a setting of wide; did you mean d_model"):
        WIDE.settings({"d_modle": 3}, where="here", section="model")
    with pytest.raises(SettingsError, match="d_modle is not a setting of wide"):
        WIDE.make(d_modle=3)


def test_another_tokenizer_does_not_get_the_options_of_the_rows():
    assert WIDE.make().settings.tokenize.options == {"hidden": [8]}
    assert WIDE.make(tokenize={"collisions": "keep"}).settings.tokenize.options == {"hidden": [8]}
    other = WIDE.make(tokenize={"tokenizer": "opq", "options": {"codebook_size": 4}}).settings.tokenize
    assert (other.tokenizer, dict(other.options)) == ("opq", {"codebook_size": 4})


def test_a_saved_model_knows_its_row(tmp_path):
    data = clusters(n_clusters=2, cluster_size=6, n_users=20, length=5)
    tiny = {"d_model": 8, "n_heads": 1, "n_layers": 1, "training": {"epochs": 1}}
    model = find_model("sasrec-ce").make(**tiny).fit(data)
    path = model.save(tmp_path / "model")
    assert open_artifact(path).settings["model"] == "sasrec-ce"
    for loaded in (load_model(path), SASRec.load(path)):
        assert (type(loaded), loaded.key, loaded.settings.loss) == (SASRec, "sasrec-ce", "cross-entropy")
        assert loaded.origin(data.fingerprint) == model.origin(data.fingerprint)
