"""Users whose histories are known."""

from __future__ import annotations

from fastapi import APIRouter

from sidrec.serving.problems import described
from sidrec.serving.routes.items import Model
from sidrec.serving.sample_users import sample_users
from sidrec.serving.schemas import SampleUsers
from sidrec.serving.service import TheService

router = APIRouter(prefix="/v1/users", tags=["users"])


@router.get("/sample", responses=described(404, 422))
def sample(service: TheService, model: Model = None) -> SampleUsers:
    """Some users of the model's training data, without their ids, and what truly came next."""
    return sample_users(service.models.get(model), service.settings.shown_users)
