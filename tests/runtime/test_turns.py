"""Stages that can wait take turns; those in a hurry do not."""

import threading
from datetime import timedelta

import pytest

from headrace.runtime import turns

SOON, LATER = timedelta(seconds=2), timedelta(seconds=10)
CORES, PLACES = 5, 2  # of a Spark that no other test has


@pytest.fixture
def held():
    """All places of those that can wait, taken until the test ends."""
    ended, taken = threading.Event(), threading.Barrier(PLACES + 1)

    def hold():
        with turns.turn(LATER, CORES):
            taken.wait()
            ended.wait()

    threads = [threading.Thread(target=hold) for _ in range(PLACES)]
    for thread in threads:
        thread.start()
    taken.wait(timeout=10)
    yield ended
    ended.set()
    for thread in threads:
        thread.join()


def entering(pause):
    """Take a turn in a thread of its own; return what is set when it has begun."""
    begun = threading.Event()

    def enter():
        with turns.turn(pause, CORES):
            begun.set()

    threading.Thread(target=enter).start()
    return begun


def test_who_can_wait_waits_until_another_has_ended(held):
    begun = entering(LATER)
    assert not begun.wait(0.2)
    held.set()
    assert begun.wait(10)


@pytest.mark.parametrize("pause", [timedelta(0), SOON])
def test_who_is_in_a_hurry_does_not_wait(held, pause):
    assert entering(pause).wait(10)


def test_a_batch_that_hangs_holds_up_others_for_a_while_only(held, monkeypatch):
    monkeypatch.setattr(turns, "_PATIENCE", 0.1)
    assert entering(LATER).wait(10)
    held.set()


def test_a_turn_that_fails_gives_its_place_back():
    for _ in range(PLACES + 1):
        with pytest.raises(ValueError, match="broken"), turns.turn(LATER, CORES):
            raise ValueError("broken")
    assert entering(LATER).wait(1)
