"""The server: the page under the token's address, and two kinds of questions. No file is read on a request.

It listens before the model is loaded, and shows how far it is.

The server listens on this machine alone. A page elsewhere could still make a browser here send requests. So every
request must name this server as its host, must come from its own page if it has an Origin, and must bring the token: in
the address for the page, in a header for questions, which no other page can set unasked.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from headatlas.commands.explore.address import is_token
from headatlas.commands.explore.loading import Loading, Site
from headatlas.commands.explore.question import MOST_BYTES, Question, read_question
from headatlas.errors import HeadatlasError

ASK, EFFECTS = "/api/ask", "/api/effects"
BODY_SECONDS = 10.0
_log = logging.getLogger(__name__)
Answer = TypeVar("Answer")
MOST_INSIDE = 4  # answered or waiting
SECONDS = 60.0
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
MOST_CONNECTIONS = 64  # far more than a browser opens, and far fewer than the files that a process may open
_numbers = count()


class Guard:
    """Checks the Host and Origin of every request and adds strict headers to every answer."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        """Return why a request is refused, or None."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return "This server answers only at its own address. Open the address that `headatlas explore` printed."
        if origin is not None and origin != f"http://{host}":
            return "This server answers only its own page."
        return None


class BusyError(Exception):
    """The queue is full."""


class Turns:
    """Runs one job at a time on a thread of its own, in order: a model must not run twice at once.

    The queue is short, because an endless one would never be caught up with, and every job has a time limit.
    """

    def __init__(self, most: int = MOST_INSIDE, seconds: float = SECONDS) -> None:
        self._room = threading.BoundedSemaphore(most)
        self._seconds = seconds
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="headatlas-model")

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Return the answer of a job. Raises BusyError if the queue is full, TimeoutError if the job takes too long.

        A job that has begun cannot be stopped: it keeps its place until it ends, even if nobody waits for it.
        """
        if not self._room.acquire(blocking=False):
            raise BusyError
        future: Future[Answer] = self._worker.submit(work)
        future.add_done_callback(lambda _: self._room.release())
        return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)


class Pages:
    """Answers requests."""

    def __init__(self, loading: Loading, token: str, turns: Turns) -> None:
        self._loading, self._token, self._turns = loading, token, turns

    async def page(self, request: Request) -> Response:
        """Return the page to whoever knows the token; until the model is loaded, a page that says how far it is."""
        self._check_address(request)
        site = self._loading.site
        html, policy = (site.page, site.policy) if site else self._loading.page()
        return HTMLResponse(html, headers={"content-security-policy": f"{policy}; frame-ancestors 'none'"})

    async def state(self, request: Request) -> Response:
        """Return how far the model is loaded."""
        self._check_address(request)
        return JSONResponse(self._loading.state())

    async def ask(self, request: Request) -> Response:
        """Answer a question about a text."""
        return await self._answer(request, lambda site, question: site.explorer.answer(question))

    async def effects(self, request: Request) -> Response:
        """Answer how much heads matter for what is predicted."""
        return await self._answer(request, lambda site, question: site.explorer.effects(question))

    def _check_address(self, request: Request) -> None:
        if not is_token(request.path_params["token"], self._token):
            raise HTTPException(404, "There is nothing here. Open the address that `headatlas explore` printed.")

    async def _answer(self, request: Request, answer: Callable[[Site, Question], dict[str, Any]]) -> Response:
        if not is_token(request.headers.get(TOKEN_HEADER), self._token):
            raise HTTPException(403, "The token is missing or old. Open the address that `headatlas explore` printed.")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "A question must be sent as application/json.")
        body = await _body(request)
        site = self._loading.site
        if site is None:
            raise HTTPException(503, "The model is not loaded yet. Wait a moment.")
        try:
            question = read_question(body, site.explorer.shape, site.explorer.model.name)
            return await self._turns.run(lambda: JSONResponse(answer(site, question)))
        except HeadatlasError as error:
            raise HTTPException(400, str(error)) from error
        except BusyError as error:
            raise HTTPException(503, "The model is busy with earlier questions. Wait a moment.") from error
        except TimeoutError as error:
            raise HTTPException(504, "The answer took too long. Try a shorter text.") from error


def create_app(loading: Loading, token: str, hosts: Iterable[str], turns: Turns | None = None) -> Starlette:
    """Make the server as an ASGI application."""
    pages = Pages(loading, token, turns or Turns())
    return Starlette(
        routes=[
            Route(ASK, pages.ask, methods=["POST"]),
            Route(EFFECTS, pages.effects, methods=["POST"]),
            Route("/{token}/", pages.page, methods=["GET"]),
            Route("/{token}/state", pages.state, methods=["GET"]),
        ],
        middleware=[Middleware(partial(Guard, hosts=frozenset(hosts)))],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )


async def _body(request: Request) -> bytes:
    """Return the body if it is small and arrives soon."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise HTTPException(413, f"The text is too long: a question may have {MOST_BYTES // 1024} KiB.")
    except TimeoutError as error:
        raise HTTPException(408, "The question did not arrive in time.") from error
    except ClientDisconnect as error:
        raise HTTPException(400, "The question is incomplete.") from error
    return bytes(body)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _failed(_request: Request, error: Exception) -> Response:
    _log.error("a question could not be answered", exc_info=error)
    return JSONResponse({"error": "An unexpected error occurred. See the terminal for details."}, 500)


class Connection(H11Protocol):
    """One connection. If there are too many, the oldest that awaits no answer is closed.

    uvicorn's own limit refuses the newest connections, so any program on this machine could lock the owner out by
    opening some and staying silent. `Turns` limits the number of questions, after the token is checked.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.number = next(_numbers)
        others = [other for other in self.connections if isinstance(other, Connection) and other.is_open()]
        silent = sorted((other for other in others if other.is_silent()), key=lambda other: other.number)
        for other in silent[: max(0, len(others) - MOST_CONNECTIONS)]:
            if other is not self:
                other.transport.close()

    def is_open(self) -> bool:
        """Whether it has not been closed."""
        return not self.transport.is_closing()

    def is_silent(self) -> bool:
        """Whether none of its requests awaits an answer."""
        return self.cycle is None or self.cycle.response_complete


def server_of(app: ASGIApp) -> uvicorn.Server:
    """Make a server that writes no token to a log."""
    config = uvicorn.Config(
        app,
        http=Connection,
        backlog=MOST_CONNECTIONS,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
    )
    return uvicorn.Server(config)
