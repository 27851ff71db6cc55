"""What workers hear of each other."""

from __future__ import annotations

import asyncio
import itertools

from sidrec.core.errors import ArtifactError
from sidrec.serving import service as room
from sidrec.serving.model_store import ModelStore
from sidrec.serving.service import Service, pauses
from sidrec.serving.settings import ServeSettings


def test_pauses_grow_up_to_half_a_minute():
    assert list(itertools.islice(pauses(), 9)) == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_a_version_that_cannot_be_followed_is_said_once(saved, monkeypatch, caplog):
    monkeypatch.setattr(room, "_LOOK_AGAIN_S", 0.001)
    monkeypatch.setattr(room, "_LONGEST_PAUSE_S", 0.002)
    service, tries = Service.of(ServeSettings(models=saved), ModelStore(saved)), itertools.count()

    def follow():
        raise ArtifactError("weights: broken." if next(tries) < 20 else "weights: gone.")

    monkeypatch.setattr(service.models, "follow", follow)

    async def a_while():
        task = asyncio.create_task(service.follow())
        while next(tries) < 60:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(a_while())
    assert [record.getMessage().split(": ", 1)[1] for record in caplog.records] == [
        "weights: broken.",
        "weights: gone.",
    ]
