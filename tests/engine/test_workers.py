"""Blocks that go out to workers and sums that come back: the same tables, whoever is lost on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.job import Work
from headatlas.engine.workers import BLOCKS_EACH, Answer, Crew, make_blocks
from headatlas.errors import ModelError
from whole_runs import run, same


class Pretended:
    """A team in this process. fate: for every answer in turn, whether its member is lost before it can give it."""

    def __init__(self, job, fate=()):
        self._job, self._fate = job, list(fate)
        self._work = {}
        self.replaced, self.closed = [], False

    def give(self, member, batches):
        assert member not in self._work, "it is busy"
        self._work[member] = batches

    def hear(self):
        member = max(self._work)  # the last that came: answers do not come in order
        batches = self._work.pop(member)
        lost = self._fate.pop(0) if self._fate else False
        return Answer(member, None if lost else self._job.sums(batches))

    def replace(self, member):
        self.replaced.append(member)

    def close(self):
        self.closed = True


@pytest.fixture
def teams(monkeypatch):
    made, fates = [], []

    def assemble(_self, job):
        made.append(Pretended(job, fates.pop(0) if fates else ()))
        return made[-1]

    monkeypatch.setattr(Crew, "assemble", assemble)
    return made, fates


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("fate", [(), (True,), (False, True, True)])
def test_the_tables_are_those_of_one_process(bert, segments, teams, workers, fate):
    teams[1].append(fate)
    same(run(bert, segments, crew=Crew(workers)), run(bert, segments))
    (team,) = teams[0]
    assert team.closed
    assert len(team.replaced) == sum(fate)


def test_a_block_that_kills_whoever_has_it_ends_the_run_with_a_remedy(bert, segments, teams, tmp_path):
    teams[1].append([False, True, True, True])
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    with pytest.raises(ModelError, match=r"3 workers were lost at the same batches; .*fewer --workers"):
        run(bert, segments, crew=Crew(1), checkpoint=checkpoint, seconds_between_saves=0)
    assert teams[0][0].closed
    same(run(bert, segments, crew=Crew(2), checkpoint=checkpoint), run(bert, segments))  # the first block was kept


def test_a_run_goes_on_with_another_crew_or_none(bert, segments, teams, tmp_path):
    teams[1].append([False, False, True, True, True])
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    with pytest.raises(ModelError):
        run(bert, segments, crew=Crew(1), checkpoint=checkpoint, seconds_between_saves=0)
    same(run(bert, segments, checkpoint=checkpoint), run(bert, segments))


def test_nothing_left_needs_no_team(bert, segments, teams, tmp_path):
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    done = run(bert, segments, checkpoint=checkpoint)
    same(run(bert, segments, crew=Crew(2), checkpoint=checkpoint), done)
    assert not teams[0]


@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=300), workers=st.integers(1, 9), data=st.data())
def test_blocks_hold_every_batch_that_is_left_once_and_share_it_out(sizes, workers, data):
    left = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1))))
    blocks = make_blocks(Work((), [()] * len(sizes), left, sizes), workers)
    assert [number for block in blocks for number in block] == left
    share = sum(sizes[number] for number in left) / (workers * BLOCKS_EACH)
    assert all(len(block) == 1 or sum(sizes[number] for number in block) <= share for block in blocks)
    assert len(blocks) <= 2 * workers * BLOCKS_EACH + 1
