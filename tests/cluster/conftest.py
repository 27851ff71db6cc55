"""One Ray for all tests of a file: starting it takes longer than they do."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def two_processors():
    from sidrec.cluster.session import ray_session

    with ray_session(num_cpus=2) as ray:
        yield ray
