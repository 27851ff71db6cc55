"""Recommendations, for one history or many."""

from __future__ import annotations

from fastapi import APIRouter

from sidrec.serving.problems import ProblemError, described
from sidrec.serving.questions import MOST_HISTORY, BatchQuestion, RecommendQuestion
from sidrec.serving.recommending import Somebody
from sidrec.serving.schemas import Served, ServedBatch
from sidrec.serving.service import Service, TheService, in_thread

router = APIRouter(prefix="/v1/recommend", tags=["recommend"])


@router.post("", responses=described(400, 404, 413, 422, 503))
async def recommend(service: TheService, question: RecommendQuestion) -> Served:
    """The k best next items; with `trace` also how they were generated, for models that generate step by step."""
    somebody = await _somebody(service, question)
    return (await service.recommend(question, [somebody], trace=question.trace))[0]


@router.post("/batch", responses=described(400, 404, 413, 422, 503))
async def recommend_batch(service: TheService, question: BatchQuestion) -> ServedBatch:
    """The same for up to 100 histories at once, all asked in the same way."""
    several = [Somebody(tuple(history)) for history in question.histories]
    return ServedBatch(answers=await service.recommend(question, several))


async def _somebody(service: Service, question: RecommendQuestion) -> Somebody:
    """Whose history is given, or kept."""
    if question.history is not None:
        return Somebody(tuple(question.history))
    if service.users is None or question.user_id is None:
        raise ProblemError(404, "this service keeps no histories of users; give the history instead of user_id.")
    history = await in_thread(service.users.history, question.user_id, MOST_HISTORY)
    return Somebody(tuple(history), question.user_id)
