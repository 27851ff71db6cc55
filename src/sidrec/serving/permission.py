"""Who may change something: whoever has the token, where there is one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from sidrec.serving.problems import ProblemError
from sidrec.serving.service import TheService

_bearer = HTTPBearer(auto_error=False, description="The token in the service's environment.")


def only_with_token(
    service: TheService, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Where the service has no token, everybody who reaches it may write events; admin routes are not there then."""
    if service.token is not None and (given is None or not service.is_token(given.credentials)):
        raise ProblemError(401, "this needs the service's bearer token.", {"WWW-Authenticate": "Bearer"})
