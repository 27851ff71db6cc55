"""Users' interactions: appended, used, forgotten. These routes exist where the service has a store."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query

from sidrec.serving.permission import only_with_token
from sidrec.serving.problems import described
from sidrec.serving.questions import (
    MOST_BEAMS,
    MOST_HISTORY,
    MOST_K,
    MOST_STEPS,
    PLAIN,
    NewEvent,
    NewEvents,
    RecommendOptions,
)
from sidrec.serving.recommending import Somebody
from sidrec.serving.routes.items import Model
from sidrec.serving.schemas import Appended, Forgotten, Served
from sidrec.serving.service import TheService, in_thread
from sidrec.serving.user_store import Interaction

router = APIRouter(prefix="/v1", tags=["users"])
UserId = Annotated[str, Path(min_length=1, max_length=512, pattern=PLAIN)]
FilterText = Annotated[str | None, Query(max_length=10_000, examples=["price<50"])]


@router.post("/events", responses=described(400, 401, 409, 413, 422), dependencies=[Depends(only_with_token)])
def append_events(service: TheService, question: NewEvents) -> Appended:
    """Keep interactions; an event that is sent again counts once. Who reads 200 will find them after any crash."""
    events = [_interaction(event) for event in question.events]
    return Appended(acknowledged=len(events), new=service.the_store.append(events))


@router.get("/users/{user_id:path}/recommend", responses=described(404, 409, 422, 503))
async def recommend_to(
    service: TheService,
    user_id: UserId,
    k: Annotated[int, Query(ge=1, le=MOST_K)] = 10,
    exclude_seen: bool = False,
    allow: FilterText = None,
    deny: FilterText = None,
    beam_size: Annotated[int | None, Query(ge=1, le=MOST_BEAMS)] = None,
    n_steps: Annotated[int | None, Query(ge=1, le=MOST_STEPS)] = None,
    order: Literal["adaptive", "left-to-right", "right-to-left"] | None = None,
    model: Model = None,
) -> Served:
    """The k best next items for somebody whose interactions are kept; an unknown user gets the most popular ones."""
    search = {"beam_size": beam_size, "n_steps": n_steps, "order": order}
    options = RecommendOptions(model=model, k=k, exclude_seen=exclude_seen, allow=allow, deny=deny, **search)
    history = await in_thread(service.the_store.history, user_id, MOST_HISTORY)
    return (await service.recommend(options, [Somebody(tuple(history), user_id)]))[0]


@router.delete("/users/{user_id:path}", responses=described(401, 409, 422), dependencies=[Depends(only_with_token)])
def forget(service: TheService, user_id: UserId) -> Forgotten:
    """Remove everything that is kept of a user."""
    return Forgotten(events=service.the_store.forget(user_id))


def _interaction(event: NewEvent) -> Interaction:
    when = int(time.time() * 1000) if event.timestamp is None else event.timestamp
    told = json.dumps([event.user_id, event.item_id, when]).encode()
    return Interaction(event.event_id or hashlib.sha256(told).hexdigest(), event.user_id, event.item_id, when)
