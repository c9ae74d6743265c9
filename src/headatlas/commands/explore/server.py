"""The server: the page under the token's address, and one kind of question. No file is read on a request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from headatlas.commands.explore.address import is_token
from headatlas.commands.explore.guard import TOKEN_HEADER, Guard
from headatlas.commands.explore.live import Explorer
from headatlas.commands.explore.requests import MOST_BYTES, read_question
from headatlas.commands.explore.turns import BusyError, Turns
from headatlas.errors import HeadatlasError

ASK = "/api/ask"
BODY_SECONDS = 10.0
_log = logging.getLogger(__name__)


class Pages:
    """Answers the two kinds of requests there are."""

    def __init__(self, explorer: Explorer, page: str, policy: str, token: str, turns: Turns) -> None:
        self._explorer, self._token, self._turns = explorer, token, turns
        self._page = HTMLResponse(page, headers={"content-security-policy": f"{policy}; frame-ancestors 'none'"})

    async def page(self, request: Request) -> Response:
        """The page, for whoever knows the token."""
        if not is_token(request.path_params["token"], self._token):
            raise HTTPException(404, "There is nothing here. Open the address that `headatlas explore` printed.")
        return self._page

    async def ask(self, request: Request) -> Response:
        """The answer to a question."""
        if not is_token(request.headers.get(TOKEN_HEADER), self._token):
            raise HTTPException(403, "The token is missing or old. Open the address that `headatlas explore` printed.")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "A question must be sent as application/json.")
        body = await _body(request)
        explorer = self._explorer
        try:
            question = read_question(body, explorer.shape, explorer.model.name)
            return await self._turns.run(lambda: JSONResponse(explorer.answer(question)))
        except HeadatlasError as error:
            raise HTTPException(400, str(error)) from error
        except BusyError as error:
            raise HTTPException(503, "The model is busy with earlier questions. Wait a moment.") from error
        except TimeoutError as error:
            raise HTTPException(504, "This took too long and was given up. Try a shorter text.") from error


def create_app(
    explorer: Explorer, page: str, policy: str, token: str, hosts: Iterable[str], turns: Turns | None = None
) -> Starlette:
    """The whole server as an ASGI application. policy: the page's Content-Security-Policy."""
    pages = Pages(explorer, page, policy, token, turns or Turns())
    return Starlette(
        routes=[
            Route(ASK, pages.ask, methods=["POST"]),
            Route("/{token}/", pages.page, methods=["GET"]),
        ],
        middleware=[Middleware(partial(Guard, hosts=frozenset(hosts)))],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )


async def _body(request: Request) -> bytes:
    """The body, if it is small and comes soon."""
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
        raise HTTPException(400, "The question broke off.") from error
    return bytes(body)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _failed(_request: Request, error: Exception) -> Response:
    _log.error("a question could not be answered", exc_info=error)
    return JSONResponse({"error": "Something went wrong that should not. The terminal says more."}, 500)
