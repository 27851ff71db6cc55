"""Fixtures every room may use."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# how long an example takes says something about the machine
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    """A service in this process chooses its number of threads; more than the cores can carry stall every later test."""
    import torch

    before = torch.get_num_threads()
    yield
    if torch.get_num_threads() != before:
        torch.set_num_threads(before)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real data sets beside the checkout; tests that need them are skipped elsewhere."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server."""
    from reference.object_store import object_store

    with object_store() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(s3_server, tmp_path, monkeypatch) -> str:
    """The URI of a new bucket, with credentials in the environment and an empty mirror."""
    from reference.object_store import KEYS, client

    for name, value in {**KEYS, "AWS_ENDPOINT_URL": s3_server, "SIDREC_CACHE": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    name = f"shop-{secrets.token_hex(4)}"
    client(s3_server).create_bucket(Bucket=name)
    return f"s3://{name}"
