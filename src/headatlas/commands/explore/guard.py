"""Turning strangers away: other machines, other web pages, and programs that do not know this run's token.

The server listens on this machine alone. A page elsewhere could still make a browser here send requests, so each must
name this server as its host (no name that somebody lets point here), come from its own page where it says where from,
and bring the token: in the address for the page, in a header for questions, which no other page can set unasked.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-headatlas-token"
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'"


class Guard:
    """Checks Host and Origin of every request, and puts the strict headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as ASGI asks."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("content-security-policy", NOTHING)
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        answer = self._app if refusal is None else JSONResponse({"error": refusal}, 403)
        await answer(scope, receive, send_strictly)

    def _refusal(self, headers: Headers) -> str | None:
        """Why a request is turned away, or None."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return "This server answers under its own address alone. Open the address that `headatlas explore` printed."
        if origin is not None and origin != f"http://{host}":
            return "This server answers its own page alone."
        return None
