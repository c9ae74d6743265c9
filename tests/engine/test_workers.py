"""Blocks that go out to workers and sums that come back: the same tables, whoever is lost on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.job import Work
from headatlas.engine.workers import BLOCKS_EACH, Reply, Workers, make_blocks
from headatlas.errors import ModelError
from whole_runs import run, same


class PretendedPool:
    """A pool in this process. fate: for every reply in turn, whether its worker is lost before it can send it."""

    def __init__(self, job, fate=()):
        self._job, self._fate = job, list(fate)
        self._work = {}
        self.replaced, self.closed = [], False

    def give(self, worker, batches):
        assert worker not in self._work, "it is busy"
        self._work[worker] = batches

    def receive(self):
        worker = max(self._work)  # the last that came: replies do not come in order
        batches = self._work.pop(worker)
        lost = self._fate.pop(0) if self._fate else False
        return Reply(worker, None if lost else self._job.sums(batches))

    def replace(self, worker):
        self.replaced.append(worker)

    def close(self):
        self.closed = True


@pytest.fixture
def pools(monkeypatch):
    made, fates = [], []

    def start(_self, job):
        made.append(PretendedPool(job, fates.pop(0) if fates else ()))
        return made[-1]

    monkeypatch.setattr(Workers, "start", start)
    return made, fates


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("fate", [(), (True,), (False, True, True)])
def test_the_tables_are_those_of_one_process(bert, segments, pools, workers, fate):
    pools[1].append(fate)
    same(run(bert, segments, workers=Workers(workers)), run(bert, segments))
    (pool,) = pools[0]
    assert pool.closed
    assert len(pool.replaced) == sum(fate)


def test_a_block_that_kills_whoever_has_it_ends_the_run_with_a_remedy(bert, segments, pools, tmp_path):
    pools[1].append([False, True, True, True])
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    with pytest.raises(ModelError, match=r"3 workers were lost at the same batches; .*fewer --workers"):
        run(bert, segments, workers=Workers(1), checkpoint=checkpoint, seconds_between_saves=0)
    assert pools[0][0].closed
    same(run(bert, segments, workers=Workers(2), checkpoint=checkpoint), run(bert, segments))  # resumes


def test_a_run_resumes_with_other_workers_or_none(bert, segments, pools, tmp_path):
    pools[1].append([False, False, True, True, True])
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    with pytest.raises(ModelError):
        run(bert, segments, workers=Workers(1), checkpoint=checkpoint, seconds_between_saves=0)
    same(run(bert, segments, checkpoint=checkpoint), run(bert, segments))


def test_nothing_left_needs_no_workers(bert, segments, pools, tmp_path):
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    done = run(bert, segments, checkpoint=checkpoint)
    same(run(bert, segments, workers=Workers(2), checkpoint=checkpoint), done)
    assert not pools[0]


@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=300), workers=st.integers(1, 9), data=st.data())
def test_blocks_hold_every_batch_that_is_left_once_and_share_it_out(sizes, workers, data):
    left = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1))))
    blocks = make_blocks(Work((), [()] * len(sizes), left, sizes), workers)
    assert [number for block in blocks for number in block] == left
    share = sum(sizes[number] for number in left) / (workers * BLOCKS_EACH)
    assert all(len(block) == 1 or sum(sizes[number] for number in block) <= share for block in blocks)
    assert len(blocks) <= 2 * workers * BLOCKS_EACH + 1
