"""The time it takes to read a session grows with its length, and no faster: ten times the turns, about ten times the time."""

import gc
import time

import pytest

import redline
from tests.agents.transcripts.long_sessions import LONG
from tests.effort import holds_once

TURNS = 300
MOST = 30
"""Ten is linear, a hundred quadratic; the rest is for a machine that has other things to do."""


@pytest.mark.parametrize("kind", LONG)
def test_reading_is_linear(tmp_path, kind):
    """Every message of every kind of file is loaded in about the same time, however many there are (R10, R62)."""
    short, long = (written(tmp_path, kind, turns) for turns in (TURNS, 10 * TURNS))
    assert holds_once(lambda: processor_time(long) < MOST * processor_time(short))


def written(directory, kind, turns):
    path = directory / f"{turns}.json"
    path.write_bytes(LONG[kind](turns))
    return path


def processor_time(path):
    """Without the collector, which has more to walk the more is kept."""
    gc.disable()
    try:
        started = time.process_time()
        assert [entry.message for conversation in redline.read_transcript(path) for entry in conversation.walk()]
        return time.process_time() - started
    finally:
        gc.enable()
