"""Connections that ask nothing: they lock nobody out, whoever opened them."""

import socket
import threading
from http.client import HTTPConnection

import pytest

from headatlas.commands.explore.address import hosts_of
from headatlas.commands.explore.loading import Loading
from headatlas.commands.explore.run import _listening
from headatlas.commands.explore.server import MOST_CONNECTIONS, create_app, server_of

TOKEN = "t0ken-_"
BEGUN = b"POST /api/ask HTTP/1.1\r\nContent-Length: 9"


@pytest.fixture
def port():
    with _listening(0) as listener:
        number = listener.getsockname()[1]
        server = server_of(create_app(Loading("tiny"), TOKEN, hosts_of(number)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield number
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("sent", [b"", BEGUN], ids=["silent", "a request that never ends"])
def test_idle_connections_do_not_lock_the_owner_out(port, sent):
    strangers = []
    for _ in range(3 * MOST_CONNECTIONS):
        strangers.append(socket.create_connection(("127.0.0.1", port), timeout=60))
        strangers[-1].sendall(sent)
    for _ in range(3):
        owner = HTTPConnection("127.0.0.1", port)
        owner.request("GET", f"/{TOKEN}/")
        assert owner.getresponse().status == 200
        owner.close()
    assert all(is_closed(stranger) for stranger in strangers[: 2 * MOST_CONNECTIONS])  # the oldest
    for stranger in strangers:
        stranger.close()


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
