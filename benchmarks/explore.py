"""A question to the explorer, from the request to the whole answer, against the bare forward pass of the same text."""

from __future__ import annotations

import json
import statistics
import time

from benchmarks.measuring import Result, SkippedError, bare_forward, eager_twin, ratio
from headatlas.commands.explore.address import ADDRESS, hosts_of
from headatlas.commands.explore.loading import Loading
from headatlas.commands.explore.options import ExploreOptions
from headatlas.commands.explore.run import load_site
from headatlas.models.loading import load_model
from headatlas.views.figures.sentence import read_sentence, sentence_batch

GOAL = 8.0
PORT, TOKEN = 8080, "token"
TEXT = (
    "The old man who lived beside the river saw a little dog in the garden, and when it ran away he called it back and "
    "gave it some bread."
)


def measure(quick: bool) -> Result:
    """The embedded masked language model on a sentence of some 30 tokens, one word masked and one head removed."""
    try:
        from starlette.testclient import TestClient

        from headatlas.commands.explore.server import create_app
    except (ImportError, RuntimeError) as error:
        raise SkippedError(f"the explorer's server or a client for it is not installed ({error})") from error
    model = load_model("embedded-mlm", device="cpu")
    loading = Loading(model.name)
    loading.site = load_site(ExploreOptions(model), TOKEN, loading)
    client = TestClient(create_app(loading, TOKEN, hosts_of(PORT)), base_url=f"http://{ADDRESS}:{PORT}")
    body = json.dumps({"text": TEXT, "words": [3], "removed": ["3-1"]})
    headers = {"X-Headatlas-Token": TOKEN, "Content-Type": "application/json", "Origin": f"http://{ADDRESS}:{PORT}"}
    typed = read_sentence(model, TEXT)
    took: list[float] = []

    def ask() -> None:
        start = time.perf_counter()
        response = client.post("/api/ask", content=body, headers=headers)
        took.append(1000 * (time.perf_counter() - start))
        if response.status_code != 200:
            raise RuntimeError(f"the explorer answered {response.status_code}: {response.text}")

    found = ratio(ask, bare_forward(eager_twin(model), sentence_batch(model, typed)), 15 if quick else 60)
    also = {"tokens": len(typed.tokens), "answer_ms": round(statistics.median(took))}
    return Result("explore", found, GOAL, also=also)
