"""The service as one ASGI app: routes, problems, guards, the page."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.staticfiles import StaticFiles

from sidrec.core.notices import SidrecWarning
from sidrec.serving.guards import Guard
from sidrec.serving.metrics import Timed
from sidrec.serving.problems import Problem, answer_in_problems
from sidrec.serving.questions import MOST_BYTES
from sidrec.serving.routes import admin, events, health, items, models, recommend, users
from sidrec.serving.service import Service

WEB = Path(__file__).parent / "web"
_ABOUT = "Recommendations by semantic IDs: lists, the generation behind them, the catalogue by codes."


def create_app(service: Service) -> FastAPI:
    """An app over models that are loaded already; routes that cannot do anything are not there."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001
        warnings.simplefilter("ignore", SidrecWarning)  # what they say is a part of every answer here
        for loaded in service.models.all():
            service.metrics.serves(loaded.name, loaded.version)
        following = asyncio.create_task(service.follow())
        yield
        following.cancel()
        service.close()

    app = FastAPI(
        title="sidrec", version=version("sidrec"), description=_ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.state.service = service
    answer_in_problems(app)
    for routes in (health, models, items, recommend, users):
        app.include_router(routes.router)
    if service.users is not None:
        app.include_router(events.router)
    if service.token is not None:
        app.include_router(admin.router)
    app.mount("/", StaticFiles(directory=WEB, html=True), name="page")
    app.add_middleware(Guard, most_bytes=MOST_BYTES)
    app.add_middleware(Timed, metrics=service.metrics)
    app.openapi = lambda: described_api(app)  # type: ignore[method-assign]
    return app


def described_api(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with the shape of problems."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        shapes = found["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        shapes.update(problem.pop("$defs", {}), Problem=problem)
        shapes.pop("HTTPValidationError", None)
        shapes.pop("ValidationError", None)
        app.openapi_schema = found
    return app.openapi_schema
