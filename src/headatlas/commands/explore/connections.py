"""How the explorer's server holds its connections: those that ask nothing make room for those that ask."""

from __future__ import annotations

import asyncio
import logging
from itertools import count

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 64  # far more than a browser opens, and far fewer than the files that a process may open
_numbers = count()


class Connection(H11Protocol):
    """One connection. Where there are too many, the oldest that awaits no answer is closed.

    uvicorn's own limit counts open connections and refuses the newest, so that any program on this machine could lock
    the owner out by opening some and staying silent. How many questions are worked on is limited by `Turns`, after
    the token.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for this connection."""
        super().connection_made(transport)
        self.number = next(_numbers)
        others = [other for other in self.connections if isinstance(other, Connection) and other.is_open()]
        silent = sorted((other for other in others if other.is_silent()), key=lambda other: other.number)
        for other in silent[: max(0, len(others) - MOST_CONNECTIONS)]:
            if other is not self:
                other.transport.close()

    def is_open(self) -> bool:
        """Whether nobody has closed it yet."""
        return not self.transport.is_closing()

    def is_silent(self) -> bool:
        """Whether no request of it awaits an answer."""
        return self.cycle is None or self.cycle.response_complete


def server_of(app: ASGIApp) -> uvicorn.Server:
    """A server of an application, which writes no token to a log."""
    config = uvicorn.Config(
        app,
        http=Connection,
        backlog=MOST_CONNECTIONS,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
    )
    return uvicorn.Server(config)
