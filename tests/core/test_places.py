from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.errors import InputError
from sidrec.core.places import is_uri, mirror, mirrored, uri_of, with_uris


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIDREC_CACHE", str(tmp_path))


@pytest.mark.parametrize("given", ["s3://shop/runs/model", Path("s3://shop/runs/model"), "s3://shop/runs/model/"])
def test_a_uri_stands_for_a_path(given):
    path = mirrored(given)
    assert path == mirror() / "s3" / "shop" / "runs" / "model"
    assert uri_of(path) == "s3://shop/runs/model"
    assert uri_of(path.with_name("data")) == "s3://shop/runs/data"
    assert is_uri(given)


def test_paths_stay_paths(tmp_path):
    assert mirrored("runs/model") == Path("runs/model")
    assert mirrored("file:///data/runs") == mirrored("file:/data/runs") == Path("/data/runs")
    assert uri_of(tmp_path / "runs") is None and uri_of(mirror()) is None and uri_of(mirror() / "s3") is None
    assert uri_of(mirror() / "s3" / "shop" / ".model.work-1" / "x") is None
    assert not is_uri("runs/model") and not is_uri("sqlite:///users.db") and not is_uri(7)


def test_words_name_the_uri():
    said = f"wrote {mirrored('gs://shop/runs/model')} and {mirrored('s3://b/x')}, not {mirror().parent}"
    assert with_uris(said) == f"wrote gs://shop/runs/model and s3://b/x, not {mirror().parent}"
    assert str(InputError(f"{mirrored('s3://b/x')}: no.")) == "s3://b/x: no."


@pytest.mark.parametrize(
    "uri", ["s3://shop/../other", "s3://", "s3://shop//x", "s3://shop/x?endpoint=y", "s3://shop/a\0"]
)
def test_tricks_are_refused(uri):
    with pytest.raises(InputError, match="is no address that is read here"):
        mirrored(uri)
