"""A run: one pass for all studies, the same bits after being stopped or killed at any moment."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass

import pandas as pd
import pytest

from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.job import Observer
from headatlas.errors import SurveyInterruptedError
from headatlas.studies import STUDIES
from headatlas.studies.reductions import Reduction
from random_maps import TEXT_STUDIES
from whole_runs import run


class KilledError(Exception):
    """Stands for a process that is killed."""


def equal(left, right):
    assert left.keys() == right.keys()
    for name, table in left.items():
        pd.testing.assert_frame_equal(table, right[name], check_exact=True)


def test_studies_share_passes_and_do_not_disturb_each_other(bert, segments, monkeypatch):
    calls = []
    forward = bert.observe_tiles
    monkeypatch.setattr(type(bert), "observe_tiles", lambda self, *rest: calls.append(1) or forward(*rest))
    together = run(bert, segments)
    batches = len(calls)
    for name in TEXT_STUDIES:
        equal(run(bert, segments, (name,)), {name: together[name]})
    attention_studies = len(TEXT_STUDIES) - 1
    assert len(calls) == batches * (1 + attention_studies)


def test_batch_size_changes_nothing_but_rounding(bert, segments):
    small, large = run(bert, segments, batch_tokens=1), run(bert, segments, batch_tokens=10_000)
    for name, table in small.items():
        pd.testing.assert_frame_equal(table, large[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("killed_in", range(4))
@pytest.mark.parametrize("moment", ["see", "end_batch", "save"])
def test_a_killed_run_goes_on_to_the_same_bits(bert, segments, tmp_path, monkeypatch, killed_in, moment):
    undisturbed = run(bert, segments)
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    calls = 0

    def dies(method):
        def dying(self, *rest):
            nonlocal calls
            calls += 1
            if calls == 1 + killed_in * (2 if moment == "see" else 1):
                raise KilledError
            return method(self, *rest)

        return dying

    target = Checkpoint if moment == "save" else TEXT_STUDIES["entropy"]
    with monkeypatch.context() as patch:
        patch.setattr(target, moment, dies(getattr(target, moment)))
        with pytest.raises(KilledError):
            run(bert, segments, checkpoint=checkpoint, seconds_between_saves=0)
    equal(run(bert, segments, checkpoint=checkpoint), undisturbed)


def test_a_finished_state_is_not_run_again(bert, segments, tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    first = run(bert, segments, checkpoint=checkpoint)
    monkeypatch.setattr(type(bert), "observe", lambda *_: pytest.fail("the model ran again"))
    equal(run(bert, segments, checkpoint=checkpoint), first)


def test_ctrl_c_ends_the_batch_saves_and_can_be_continued(bert, segments, tmp_path, monkeypatch):
    undisturbed = run(bert, segments)
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    observe = Observer.observe

    def interrupted(self, batch):
        os.kill(os.getpid(), signal.SIGINT)
        observe(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Observer, "observe", interrupted)
        with pytest.raises(SurveyInterruptedError, match=r"1 of .* batches; the same command continues"):
            run(bert, segments, checkpoint=checkpoint)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    equal(run(bert, segments, checkpoint=checkpoint), undisturbed)


def test_a_second_ctrl_c_interrupts_at_once(bert, segments, monkeypatch):
    def impatient(self, batch):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Observer, "observe", impatient)
    with pytest.raises(KeyboardInterrupt):
        run(bert, segments)


def test_runs_outside_the_main_thread(bert, segments):
    results = []
    thread = threading.Thread(target=lambda: results.append(run(bert, segments)))
    thread.start()
    thread.join()
    equal(results[0], run(bert, segments))


def test_the_seed_decides_the_masking_alone(bert, segments):
    first, again, other = (run(bert, segments, seed=seed) for seed in (0, 0, 1))
    equal(first, again)
    assert not first["gradients"].equals(other["gradients"])
    equal({"entropy": first["entropy"]}, {"entropy": other["entropy"]})


@dataclass(frozen=True)
class Failing(Reduction):
    """Fails at one of its steps."""

    step: str

    def act(self, step):
        if step == self.step:
            raise ArithmeticError(f"cannot {step}")

    def start(self, layer, batch, like):
        self.act("start")

    def add(self, sums, tile, batch):
        self.act("add")

    def finish(self, sums, batch):
        self.act("finish")


class Needy(STUDIES["positions"]):
    """A study of another package, whose reduction fails."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def reductions(self):
        return [*super().reductions(), Failing(self.step)]


@pytest.mark.parametrize("step", ["start", "add", "finish"])
def test_a_reduction_of_another_package_that_fails_takes_nothing_with_it(bert, batch_for, step):
    alone, beside = STUDIES["positions"](), STUDIES["positions"]()
    for study in (alone, beside, needy := Needy(step)):
        study.start(bert.shapes["encoder"])
    Observer(bert, {"positions": alone}).observe(batch_for(bert))
    observer = Observer(bert, {"positions": beside, "needy": needy})
    observer.observe(batch_for(bert))
    assert observer.failures == {"needy": f"ArithmeticError: cannot {step}"}
    assert (alone.total == beside.total).all()
    assert alone.total.any()
