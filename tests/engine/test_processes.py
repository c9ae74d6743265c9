"""Real processes: the model arrives whole, sums come back, and a killed worker's block is done by another."""

from __future__ import annotations

import os
import signal
from copy import deepcopy

import numpy as np
import pytest

from headatlas.encoding.kinds import kind_table
from headatlas.engine.crew import Crew
from headatlas.engine.job import Job
from headatlas.engine.processes import Processes
from headatlas.errors import ModelError
from headatlas.studies import TEXT_STUDIES
from whole_runs import TEXTS, run, same


def job_of(model, names=tuple(TEXT_STUDIES)):
    return Job(model, {name: TEXT_STUDIES[name]() for name in names}, kind_table(model.tokenizer), model.default_stack)


def test_two_processes_give_the_tables_of_one(bert, segments, batch_for):
    batch, states = batch_for(bert), []
    bert.observe(batch, lambda *_: None, see_states=states.append)  # which leaves hooks in the network
    bert.network(**bert.inputs(batch), output_attentions=True)
    same(run(bert, segments, crew=Crew(2)), run(bert, segments))
    bert.observe(batch, lambda *_: None, see_states=states.append)
    assert len(states[1]) == len(states[0]) == 3


def test_a_killed_worker_is_noticed_and_replaced(bert, segments):
    job = job_of(bert)
    team = Processes(job, 1)
    try:
        team.give(0, [segments[:2]])
        os.kill(team._members[0].process.pid, signal.SIGKILL)
        assert team.hear().sums is None
        team.replace(0)
        team.give(0, [segments[:2]])
        answer = team.hear()
        assert answer.member == 0
        for name, state in job.sums([segments[:2]]).items():
            for key, array in state.items():
                np.testing.assert_allclose(answer.sums[name][key], array, rtol=1e-12, atol=1e-14)
        idle = team._members[0].process.pid
        os.kill(idle, signal.SIGKILL)
        team._members[0].process.join()
        team.give(0, [segments[:1]])  # it is dead already
        assert team.hear().sums is None
    finally:
        team.close()
    assert not team._members


def test_what_goes_wrong_in_a_worker_is_raised_here(load_tiny, segments_for):
    broken = deepcopy(load_tiny("bert"))
    with_nan = next(iter(broken.network.parameters()))
    with_nan.data.fill_(float("nan"))
    team = Processes(job_of(broken, ("entropy",)), 1)
    try:
        team.give(0, [segments_for(broken.tokenizer, TEXTS[:1])])
        with pytest.raises(ModelError, match="not finite"):
            team.hear()
    finally:
        team.close()
