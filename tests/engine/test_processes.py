"""Real processes: the model arrives whole, sums come back, and a killed worker's block is done by another."""

from __future__ import annotations

import os
import signal
import threading
import time
from copy import deepcopy
from dataclasses import replace
from multiprocessing.connection import wait

import numpy as np
import pytest

from headatlas.encoding.kinds import kind_table
from headatlas.engine import processes
from headatlas.engine.job import Job
from headatlas.engine.processes import ProcessPool
from headatlas.engine.workers import Workers
from headatlas.errors import ModelError
from random_maps import TEXT_STUDIES
from whole_runs import TEXTS, run, same


def job_of(model, names=tuple(TEXT_STUDIES)):
    return Job(model, {name: TEXT_STUDIES[name]() for name in names}, kind_table(model.tokenizer), model.default_stack)


def test_two_processes_give_the_tables_of_one(bert, segments, batch_for):
    batch, states = batch_for(bert), []
    bert.observe(batch, lambda *_: None, see_states=states.append)  # which leaves hooks in the network
    bert.network(**bert.inputs(batch), output_attentions=True)
    same(run(bert, segments, workers=Workers(2)), run(bert, segments))
    bert.observe(batch, lambda *_: None, see_states=states.append)
    assert len(states[1]) == len(states[0]) == 3


def test_a_killed_worker_is_noticed_and_replaced(bert, segments):
    job = job_of(bert)
    pool = ProcessPool(job, 1)
    try:
        pool.give(0, [segments[:2]])
        os.kill(pool._workers[0].process.pid, signal.SIGKILL)
        assert pool.receive().result is None
        pool.replace(0)
        pool.give(0, [segments[:2]])
        reply = pool.receive()
        assert reply.worker == 0
        for name, state in job.sums([segments[:2]])[0].items():
            for key, array in state.items():
                np.testing.assert_allclose(reply.result[0][name][key], array, rtol=1e-12, atol=1e-14)
        idle = pool._workers[0].process.pid
        os.kill(idle, signal.SIGKILL)
        pool._workers[0].process.join()
        pool.give(0, [segments[:1]])  # it is dead already
        assert pool.receive().result is None
    finally:
        pool.close()
    assert not pool._workers


def test_what_goes_wrong_in_a_worker_is_raised_here(load_tiny, segments_for):
    broken = deepcopy(load_tiny("bert"))
    with_nan = next(iter(broken.network.parameters()))
    with_nan.data.fill_(float("nan"))
    pool = ProcessPool(job_of(broken, ("entropy",)), 1)
    try:
        pool.give(0, [segments_for(broken.tokenizer, TEXTS[:1])])
        with pytest.raises(ModelError, match="not finite"):
            pool.receive()
    finally:
        pool.close()


def test_ctrl_c_at_any_moment_of_the_start_does_not_reach_a_worker(bert, segments):
    pool = ProcessPool(job_of(bert, ("entropy",)), 1)
    try:
        pool.give(0, [segments[:1]])
        while not wait([pool._workers[0].pipe], 0.02):  # it imports torch meanwhile, and is sent Ctrl-C all the time
            os.kill(pool._workers[0].process.pid, signal.SIGINT)
        assert pool.receive().result is not None
    finally:
        pool.close()


def test_a_job_larger_than_any_buffer_does_not_hold_up_who_sends_it(bert, segments, monkeypatch):
    monkeypatch.setattr(processes, "_work", _dies_at_once)
    large = replace(job_of(bert, ("entropy",)), kinds=b"x" * 10_000_000)
    pool = ProcessPool(large, 1)
    try:
        pool.give(0, [segments[:1]])
        reply = pool.receive()
        assert reply.result is None
        assert reply.loss == "ended with exit code 7"
    finally:
        pool.close()


def _dies_at_once(*_: object) -> None:
    os._exit(7)


def test_a_worker_that_is_stopped_is_named(bert, segments, monkeypatch, caplog):
    pool = ProcessPool(job_of(bert, ("entropy",)), 1)
    try:
        pool.give(0, [segments[:1]])
        worker = pool._workers[0].process.pid
        os.kill(worker, signal.SIGSTOP)
        monkeypatch.setattr(processes, "SILENCE_SECONDS", 0.01)
        thread = threading.Thread(target=pool.receive)
        thread.start()
        while f"kill -CONT {worker}" not in caplog.text:
            time.sleep(0.01)
        os.kill(worker, signal.SIGCONT)
        while "still running" not in caplog.text and thread.is_alive():
            time.sleep(0.01)
        thread.join()
    finally:
        pool.close()
    assert f"Worker 1 (process {worker}) has not answered for" in caplog.text


def test_running_out_of_memory_is_reported(bert, segments, monkeypatch):
    def fails(error):
        def observe(*_):
            raise error

        return observe

    said = r"Out of memory in a batch of 1 x \d+ tokens .*--batch-tokens"
    for error in (MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 9 bytes")):
        monkeypatch.setattr(type(bert), "observe_tiles", fails(error))
        with pytest.raises(ModelError, match=said):
            job_of(bert, ("entropy",)).sums([segments[:1]])
    monkeypatch.setattr(type(bert), "observe_tiles", fails(RuntimeError("another")))
    with pytest.raises(RuntimeError, match="another"):
        job_of(bert, ("entropy",)).sums([segments[:1]])


def test_how_a_worker_was_killed_is_reported(bert, segments):
    pool = ProcessPool(job_of(bert, ("entropy",)), 1)
    try:
        for number, words in ((signal.SIGKILL, "when memory runs out"), (signal.SIGTERM, "was ended by SIGTERM")):
            pool.replace(0)
            pool.give(0, [segments[:1]])
            os.kill(pool._workers[0].process.pid, number)  # while it starts
            assert words in pool.receive().loss
    finally:
        pool.close()


def test_a_model_that_cannot_be_sent_is_refused(bert, segments):
    pool = ProcessPool(replace(job_of(bert, ("entropy",)), kinds=lambda: None), 1)
    try:
        with pytest.raises(ModelError, match=r"cannot be sent to another process .*without --workers"):
            pool.give(0, [segments[:1]])
    finally:
        pool.close()
