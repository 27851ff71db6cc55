"""Which models are served."""

from __future__ import annotations

from fastapi import APIRouter

from sidrec.core.errors import SettingsError
from sidrec.core.settings import Settings
from sidrec.models.capabilities import AddsItems, Explains, Searches, Steers
from sidrec.models.registry import find_model
from sidrec.serving.model_store import LoadedModel, ModelStore
from sidrec.serving.questions import SEARCH_OPTIONS
from sidrec.serving.schemas import Capabilities, ModelCard, ModelList
from sidrec.serving.service import TheService

router = APIRouter(prefix="/v1/models", tags=["models"])


@router.get("")
def list_models(service: TheService) -> ModelList:
    """Every model, the default first."""
    return cards(service.models)


def cards(models: ModelStore) -> ModelList:
    return ModelList(models=[card(loaded, default=place == 0) for place, loaded in enumerate(models.all())])


def card(loaded: LoadedModel, *, default: bool) -> ModelCard:
    model, ids = loaded.model, loaded.stock.ids
    return ModelCard(
        name=loaded.name,
        model=model.key,
        summary=_summary(model.key),
        version=loaded.version,
        loaded_at=loaded.loaded_at,
        n_items=len(loaded.stock),
        codebook_sizes=None if ids is None else list(ids.semantic_ids.codebook_sizes),
        columns=loaded.stock.catalog.frame.columns,
        capabilities=Capabilities(
            semantic_ids=ids is not None,
            explains=isinstance(model, Explains),
            searches=isinstance(model, Searches),
            steers=isinstance(model, Steers),
            adds_items=isinstance(model, AddsItems),
        ),
        search=model.search.model_dump(mode="json") if isinstance(model, Searches) else None,
        search_options=free_options(model.search) if isinstance(model, Searches) else [],
        default=default,
    )


def free_options(search: Settings) -> list[str]:
    """What a request may say of this search: it knows the setting, and has more than one value for it."""
    known = type(search).model_json_schema()["properties"]
    free = [name for name in SEARCH_OPTIONS if name in known]
    return [name for name in free if "const" not in known[name] and known[name].get("type") != "null"]


def _summary(key: str) -> str:
    try:
        return find_model(key).summary
    except SettingsError:  # a row that was registered when the model was saved, and is gone
        return key
