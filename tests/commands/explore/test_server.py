"""The server from outside: who is let in, what is answered, and that nothing else can be had."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from headatlas.commands.explore.address import hosts_of
from headatlas.commands.explore.live import Explorer
from headatlas.commands.explore.loading import MODEL, Loading, Site
from headatlas.commands.explore.options import ExploreOptions
from headatlas.commands.explore.question import MOST_BYTES
from headatlas.commands.explore.run import load_site
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
    loading = Loading("tiny")
    loading.site = load_site(ExploreOptions(model), TOKEN, loading)
    return client_of(create_app(loading, TOKEN, hosts_of(PORT)))


def client_of(app):
    return TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)


def ask(client, question, path="/api/ask", **headers):
    sent = {"x-headatlas-token": TOKEN, "content-type": "application/json"} | headers
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    return client.post(path, content=body, headers={name: value for name, value in sent.items() if value})


def test_a_question_is_answered(client):
    answer = ask(client, {"text": "the dog ran.", "words": [1]}, origin=f"http://{HOST}")
    assert answer.status_code == 200
    assert answer.json()["example"]["tokens"] == ["[CLS]", "the", "[MASK]", "ran", ".", "[SEP]"]


def test_effects_are_answered_layer_by_layer(client):
    answer = ask(client, {"text": "the dog ran.", "words": [1], "layers": [2, 2]}, "/api/effects")
    assert answer.status_code == 200
    assert answer.json()["targets"] == ["dog"]
    assert len(answer.json()["kl"]) == 4
    assert ask(client, {"text": "the dog"}, "/api/effects", **{"x-headatlas-token": ""}).status_code == 403
    refused = ask(client, {"text": "the dog", "cut": {"from": [99], "to": [0]}, "by_cut": True}, "/api/effects")
    assert (refused.status_code, "no token 99" in refused.json()["error"]) == (400, True)
    refused = ask(client, {"text": "the dog", "by_cut": True}, "/api/effects")
    assert (refused.status_code, refused.json()["error"]) == (400, "Mark what to cut first.")


def test_until_the_model_is_loaded_the_page_says_how_far_it_is():
    loading = Loading("<b>gpt2</b>")
    client = client_of(create_app(loading, TOKEN, hosts_of(PORT)))
    page = client.get(f"/{TOKEN}/")
    assert "Loading &lt;b&gt;gpt2" in page.text
    assert "unsafe" not in page.headers["content-security-policy"]
    loading.begin(MODEL)
    state = client.get(f"/{TOKEN}/state").json()
    assert (state["stage"], state["failure"], state["ready"]) == (1, None, False)
    assert ask(client, {"text": "a"}).status_code == 503
    assert client.get(f"/{TOKEN}x/state").status_code == 404
    loading.failure = ValueError("no such model")
    assert not loading.failure_shown.is_set()
    assert client.get(f"/{TOKEN}/state").json()["failure"] == "no such model"
    assert loading.failure_shown.is_set()


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
    loading = Loading("slow")
    loading.site = Site(Slow(model, "encoder"), "page", "")
    app = create_app(loading, TOKEN, [HOST], Turns(most=2, seconds=SECONDS))
    with client_of(app) as client:
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
