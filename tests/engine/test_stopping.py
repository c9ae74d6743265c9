"""Ctrl-C as an event: shared by nested runs, never lost, and followed by one that interrupts."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from headatlas.engine.guards import STOPPING, ctrl_c
from headatlas.errors import SurveyInterruptedError


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True, params=["default", "ignored"])
def handler(request):
    """What is there before: the usual handler, or none, as in a background job of a shell."""
    usual = signal.default_int_handler if request.param == "default" else signal.SIG_IGN
    before = signal.signal(signal.SIGINT, usual)
    yield usual
    assert signal.getsignal(signal.SIGINT) is usual, "what was there is put back"
    signal.signal(signal.SIGINT, before)


def stopped(work, error=SurveyInterruptedError, match="the same command continues"):
    """Run some work that is given the event, within a run that must end in an error."""

    def run() -> None:
        with ctrl_c() as stop:
            work(stop)

    with pytest.raises(error, match=match):
        run()


def test_the_first_is_an_event_and_acknowledged_at_once(capsys):
    def work(stop):
        assert not stop.is_set()
        press()
        assert stop.is_set()
        assert capsys.readouterr().err == f"{STOPPING}\n"
        raise SurveyInterruptedError("Stopped in time.")

    stopped(work, match="in time")


def test_the_second_interrupts():
    def work(stop):
        press()
        press()

    stopped(work, KeyboardInterrupt, None)


def test_a_request_that_nobody_noticed_is_honoured_at_the_end():
    stopped(lambda _: press())


def test_nested_runs_share_the_event():
    def work(outer):
        with ctrl_c() as inner:
            assert inner is outer
            press()
        assert outer.is_set(), "the end of the inner run does not stop the outer one by itself"

    stopped(work)


def test_an_error_of_the_run_goes_first():
    def work(stop):
        press()
        raise ValueError("broken")

    stopped(work, ValueError, "broken")


def test_a_stop_in_the_middle_of_a_write_is_told_all_the_same(monkeypatch, capfd):
    def busy(*_: object, **__: object) -> None:
        raise RuntimeError("reentrant call")

    monkeypatch.setattr("builtins.print", busy)
    stopped(lambda _: press())
    assert STOPPING in capfd.readouterr().err


def test_other_threads_are_not_stopped():
    seen = []

    def elsewhere():
        with ctrl_c() as stop:
            seen.append(stop.is_set())

    def work(stop):
        press()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    stopped(work)
    assert seen == [False]
