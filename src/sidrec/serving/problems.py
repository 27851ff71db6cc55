"""Errors as RFC 9457 problems: one shape for whatever goes wrong, in words, and never anything from inside."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from sidrec.core.errors import ArtifactError, InputError, SettingsError, SidrecError, StorageError
from sidrec.core.plain_text import many_lines, one_line

MEDIA_TYPE = "application/problem+json"
_STATUS = ((InputError, 422), (SettingsError, 422), (ArtifactError, 409), (StorageError, 409))
_SHOWN = 20


class FieldProblem(BaseModel):
    where: str
    what: str


class Problem(BaseModel):
    """What went wrong, and what to do."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Not Found", "status": 404, "detail": "no model is called 'x'."}]}
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] | None = None
    """Every field that is wrong."""


class ProblemError(Exception):
    """Raised by a route: a status and a sentence."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, errors: list[FieldProblem] | None = None
) -> JSONResponse:
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=many_lines(detail), errors=errors)
    return JSONResponse(body.model_dump(exclude_none=True), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route can answer with, for its OpenAPI description; every route can have a bad day."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def answer_in_problems(app: FastAPI) -> None:
    """Whatever is raised inside the app leaves it as a problem."""

    @app.exception_handler(ProblemError)
    async def _ours(_: Request, error: ProblemError) -> JSONResponse:
        return problem(error.status, error.detail, error.headers)

    @app.exception_handler(SidrecError)
    async def _known(_: Request, error: SidrecError) -> JSONResponse:
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
        return problem(status, str(error))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()
        if any(each["type"] == "json_invalid" for each in found):
            return problem(400, "the body is not JSON.")
        fields = [_field(each) for each in found[:_SHOWN]]
        return problem(422, "; ".join(f"{each.where}: {each.what}" for each in fields[:3]) + ".", errors=fields)

    @app.exception_handler(Exception)
    async def _defect(_: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
        return problem(500, "a defect of the service; its log has the details.")


def _field(error: Mapping[str, Any]) -> FieldProblem:
    where = ".".join(str(part) for part in error["loc"])[:200]
    what = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return FieldProblem(where=one_line(where), what=one_line(what[:1].lower() + what[1:])[:500])
