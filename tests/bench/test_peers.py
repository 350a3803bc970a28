"""The input of `make bench-peers`."""

import contextlib
import time

import pytest

import redline
from bench.peers.inputs import DAMAGES, damaged_histories, long_history
from bench.peers.repairs import measure_repairs
from bench.peers.requests import measure_requests


def test_long_histories_are_legal():
    """What is timed is a history as an agent has it, of the length that was asked for."""
    history = long_history(101)
    assert len(history) == 101
    while history[-1]["role"] != "tool":  # a call at the end still waits for its result
        history.pop()
    plain = [{key: value for key, value in message.items() if key != "timestamp"} for message in history]
    assert not redline.check(plain, format="openai_chat")


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_the_same_on_every_run(damage):
    """Every library is given the same histories."""
    assert list(damaged_histories(damage, 20)) == list(damaged_histories(damage, 20))


def test_a_repair_that_loses_content_or_raises_is_counted():
    """Illegal, lost and refused are told apart."""

    def refuse(history):
        raise ValueError(history)

    rows = measure_repairs({("all lost", "openai_chat"): lambda _: [], ("refused", "openai_chat"): refuse}, 10)
    by_name = {row["repair"]: row for row in rows if row["damage"] == "results missing" and row["format"] == "openai_chat"}
    assert by_name["all lost"]["kept"] == 0
    assert by_name["refused"]["refused"] == by_name["refused"]["cases"] == 10
    assert by_name["(as they are)"]["legal"] == 0
    assert by_name["Redline"]["legal_and_whole"] == 10


def test_a_peer_that_takes_too_long_is_given_up():
    """It says so in its row, is not tried with a longer history, and the others are measured all the same."""

    def stuck(history):
        def wait(message):
            while len(history) > 10:
                with contextlib.suppress(Exception):  # a library that goes on whatever happens
                    time.sleep(0.01)
            return message

        return lambda message: lambda: wait(message)

    rows = measure_requests({"stuck": stuck}, [10, 20, 30], limit_s=0.5)
    found = {(row["way"], row["messages"]): row for row in rows}
    assert found["stuck", 10]["median"] >= 0
    assert found["stuck", 20]["failed"] == "> 0.5 s"
    assert ("stuck", 30) not in found
    assert {length for way, length in found if way == "Redline, decided"} == {10, 20, 30}
