from __future__ import annotations

import pytest

from sidrec.core.artifacts import Origin, write
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.models.popularity import Popularity
from sidrec.models.registry import MODELS, find_model, load_model


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
    with pytest.raises(ArtifactError, match="a model this version does not know"):
        load_model(tmp_path / "model")


def test_another_artefact_is_no_model(tmp_path):
    with write(tmp_path / "data", Origin("dataset")):
        pass
    with pytest.raises(ArtifactError, match="is a dataset artefact, a model artefact is needed"):
        load_model(tmp_path / "data")
