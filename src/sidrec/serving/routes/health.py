"""Whether the service lives, whether it takes requests, and what it has to tell."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from sidrec.serving.problems import ProblemError, described
from sidrec.serving.schemas import Health
from sidrec.serving.service import TheService

router = APIRouter(tags=["health"])


@router.get("/health/live")
async def live() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/health/ready", responses=described(503))
async def ready(service: TheService) -> Health:
    """All models are loaded, and the queue has room."""
    if not service.models.ready:
        raise ProblemError(503, "models are being loaded.", {"Retry-After": "1"})
    if service.batcher.full:
        raise ProblemError(503, "the queue is full.", {"Retry-After": "1"})
    return Health(status="ok")


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def metrics(service: TheService) -> Response:
    """For Prometheus."""
    return Response(service.metrics.text(), headers={"content-type": CONTENT_TYPE_LATEST})
