from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import demo_shop
from sidrec.models.popularity import Popularity


@pytest.fixture(scope="session")
def shop() -> Dataset:
    return demo_shop(n_items=400, n_users=90, seed=2)


@pytest.fixture(scope="session")
def saved(tmp_path_factory, shop) -> tuple[Path, Path]:
    """Directories of a dataset and of a popularity model trained on it."""
    folder = tmp_path_factory.mktemp("saved")
    shop.save(folder / "data")
    Popularity().fit(Dataset.load(folder / "data"), out=folder / "model")
    return folder / "data", folder / "model"
