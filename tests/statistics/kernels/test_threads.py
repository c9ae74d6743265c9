"""Small work in one thread each, and the usual number afterwards."""

from __future__ import annotations

import pytest
import torch

from headatlas.statistics.kernels.threads import numba_threads, one_thread, side_by_side


@pytest.fixture(autouse=True)
def three_threads():
    usual = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(usual)


def test_one_thread_within_the_usual_number_after():
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_the_usual_number_comes_back_after_an_error():
    with pytest.raises(ValueError, match="x"), one_thread():
        raise ValueError("x")
    with pytest.raises(ValueError, match="x"):
        side_by_side(_fail, [1])
    assert torch.get_num_threads() == 3


def test_all_pieces_are_done_each_in_one_thread():
    done = []
    side_by_side(lambda item: done.append((item, torch.get_num_threads())), range(5))
    assert sorted(done) == [(item, 1) for item in range(5)]
    assert torch.get_num_threads() == 3


def _fail(item):
    raise ValueError("x")


def test_torch_keeps_its_number_whatever_numba_s_threads_do():
    with numba_threads(many=True):
        torch.set_num_threads(2)
    assert torch.get_num_threads() == 3
