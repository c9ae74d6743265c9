"""One at a time, few in the queue, none for ever."""

import asyncio
import threading
import time
from contextlib import suppress

import pytest

from headatlas.commands.explore.server import BusyError, Turns
from patience import SECONDS


def test_work_is_done_one_at_a_time_and_in_order():
    running, overlaps, order = 0, [], []

    def work(number):
        nonlocal running
        running += 1
        overlaps.append(running)
        time.sleep(0.01)
        running -= 1
        order.append(number)
        return number

    async def all_of_them():
        turns = Turns(most=5)
        return await asyncio.gather(*(turns.run(lambda number=number: work(number)) for number in range(5)))

    assert asyncio.run(all_of_them()) == order == list(range(5))
    assert overlaps == [1] * 5


def test_a_full_queue_turns_away_and_has_room_again():
    async def crowd():
        gate, turns = threading.Event(), Turns(most=2)
        waiting = [asyncio.create_task(turns.run(lambda: gate.wait(SECONDS))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await turns.run(lambda: True)
        gate.set()
        assert await asyncio.gather(*waiting) == [True, True]
        assert await turns.run(lambda: 7) == 7

    asyncio.run(crowd())


def test_late_work_is_given_up_but_keeps_its_place_until_it_ends():
    async def late():
        gate, turns = threading.Event(), Turns(most=2, seconds=0.05)
        began = []
        with pytest.raises(TimeoutError):
            await turns.run(lambda: gate.wait(SECONDS))
        with pytest.raises(TimeoutError):
            await turns.run(lambda: began.append(1))  # still behind the first
        gate.set()
        answer = None
        while answer is None:  # soon after the first has ended
            with suppress(BusyError, TimeoutError):
                answer = await turns.run(lambda: 7)
        assert answer == 7
        assert began == []

    asyncio.run(late())


def test_an_error_of_the_work_comes_back_and_frees_the_place():
    async def failing():
        turns = Turns(most=1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await turns.run(lambda: 1 // 0)

    asyncio.run(failing())
