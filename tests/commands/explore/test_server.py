"""The server from outside: who is let in, what is answered, and that nothing else can be had."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from headatlas.commands.explore.live import MOST_BYTES, Explorer
from headatlas.commands.explore.run import explorer_app
from headatlas.commands.explore.server import Turns, create_app
from patience import SECONDS

TOKEN = "t0ken-_"
PORT = 4567
HOST = f"127.0.0.1:{PORT}"
HOSTILE = "<script>alert(1)</script> \u202e \x00 שלום 👩‍👩‍👧 \"'&\u2028 ' OR 1=1"


@pytest.fixture(scope="module")
def model(load_tiny):
    return load_tiny("bert")


@pytest.fixture(scope="module")
def client(model):
    return TestClient(explorer_app(model, None, TOKEN, PORT), base_url=f"http://{HOST}", raise_server_exceptions=False)


def ask(client, question, **headers):
    sent = {"x-headatlas-token": TOKEN, "content-type": "application/json"} | headers
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    return client.post("/api/ask", content=body, headers={name: value for name, value in sent.items() if value})


def test_a_question_is_answered(client):
    answer = ask(client, {"text": "the dog ran.", "words": [1]}, origin=f"http://{HOST}")
    assert answer.status_code == 200
    assert answer.json()["example"]["tokens"] == ["[CLS]", "the", "[MASK]", "ran", ".", "[SEP]"]


def test_removing_a_head_changes_the_prediction(client):
    one = {"text": "the dog ran.", "words": [1]}
    (row,) = ask(client, one | {"removed": ["1-1", "2-3"]}).json()["predictions"]
    assert row["before"] != row["after"]
    (row,) = ask(client, one).json()["predictions"]
    assert row["before"] == row["after"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-headatlas-token": ""}, 403),
        ({"x-headatlas-token": TOKEN + "x"}, 403),
        ({"x-headatlas-token": b"\xc3\xa9"}, 403),
        ({"host": "evil.example"}, 403),
        ({"host": f"evil.example:{PORT}"}, 403),
        ({"host": "127.0.0.1:80"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"https://{HOST}"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"host": f"localhost:{PORT}"}, 200),
    ],
)
def test_strangers_are_turned_away(client, headers, status):
    answer = ask(client, {"text": "the dog"}, **headers)
    assert answer.status_code == status
    assert ("error" in answer.json()) == (status != 200)


def test_the_page_is_for_those_who_know_the_token(client):
    page = client.get(f"/{TOKEN}/")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("connect-src 'self'; frame-ancestors 'none'")
    assert "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert client.get(f"/{TOKEN}x/").status_code == 404
    assert client.get("/").status_code == 404


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../../etc/passwd", f"/{TOKEN}/../x", f"/{TOKEN}/style.css", "/static/"]
)
def test_no_file_can_be_had(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json().keys() == {"error"}
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_other_methods_are_refused(client):
    assert client.get("/api/ask").status_code in (404, 405)
    assert client.put("/api/ask").status_code == 405
    assert client.options("/api/ask", headers={"origin": "http://evil.example"}).status_code == 403


def test_size_is_limited_whatever_the_header_says(client):
    assert ask(client, b"x" * (MOST_BYTES + 1)).status_code == 413

    def chunks():
        for _ in range(MOST_BYTES // 1024 + 1):
            yield b"x" * 1024

    headers = {"x-headatlas-token": TOKEN, "content-type": "application/json"}
    assert client.post("/api/ask", content=chunks(), headers=headers).status_code == 413


def test_what_is_wrong_with_a_question_is_said(client):
    answer = ask(client, {"text": "dog " * 100})
    assert answer.status_code == 400
    assert "102 tokens" in answer.json()["error"]
    assert "not JSON" in ask(client, b"{").json()["error"]


def test_hostile_text_is_text(client):
    answer = ask(client, {"text": HOSTILE})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert {"<", "script", "alert"} <= set(answer.json()["words"])


class Slow(Explorer):
    """One that waits for the test."""

    gate = threading.Event()

    def answer(self, question):
        self.gate.wait(SECONDS)
        if question.text == "broken":
            raise RuntimeError("secret")
        return {"text": question.text}


@pytest.fixture
def slow_client(model):
    app = create_app(Slow(model, "encoder"), "page", "", TOKEN, [HOST], Turns(most=2, seconds=SECONDS))
    with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
        yield client
    Slow.gate.clear()


def test_a_crowd_is_answered_as_far_as_there_is_room(slow_client):
    with ThreadPoolExecutor(6) as crowd:
        answers = [crowd.submit(ask, slow_client, {"text": str(number)}) for number in range(6)]
        refused = 0
        while refused < 4:
            refused = sum(answer.done() for answer in answers)
        Slow.gate.set()
        found = sorted(answer.result().status_code for answer in answers)
    assert found == [200, 200, 503, 503, 503, 503]


def test_a_failure_tells_the_browser_nothing_and_the_server_goes_on(slow_client):
    Slow.gate.set()
    answer = ask(slow_client, {"text": "broken"})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert ask(slow_client, {"text": "a"}).json() == {"text": "a"}
