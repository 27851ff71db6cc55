"""What stands before every route: a limit for bodies, and headers that let a page load nothing from elsewhere."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sidrec.serving.problems import problem

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_READ_ON = 16 << 20
"""Bytes of a refused body that are still read, so that its sender comes to read the answer."""


class Guard:
    """Wraps the app."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app, self._most = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_RAW]
            await send(message)

        if _length(scope) > self._most:
            await _read_on(receive)
            await problem(413, self._words)(scope, receive, headed)
            return
        await self._app(scope, self._counted(receive), headed)

    @property
    def _words(self) -> str:
        return f"the body is larger than {self._most:,} bytes; ask for less at a time."

    def _counted(self, receive: Receive) -> Receive:
        """For bodies that do not say how long they are."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._most:
                if message.get("more_body"):
                    await _read_on(receive)
                raise HTTPException(413, self._words)
            return message

        return counted


def _length(scope: Scope) -> int:
    found = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(found) if found.isdigit() else 0


async def _read_on(receive: Receive) -> None:
    seen = 0
    while seen < _READ_ON:
        message = await receive()
        seen += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            break
