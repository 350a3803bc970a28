"""A model that costs nothing: on a machine of one's own."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline import Conversation, Editor
from redline.prices import Price
from redline.schedules import Budget, WhenFree
from redline.testing import asks, conversation, says
from tests.effort import tries

MINUTE = 60_000
FREE = Price(model="house-model", input=0, output=0, cache_read=0, cache_write=0)
HISTORY = conversation(
    "openai_chat",
    [
        says("user", "go"),
        *itertools.chain.from_iterable(
            asks("filesystem-read", {"filePath": "a.py"}, f"text {number} " * 60, id=f"r{number}") for number in range(12)
        ),
    ],
)


@pytest.mark.parametrize("schedule", ["eager", "when_free", "budget", Budget(trigger_tokens=500), None])
@pytest.mark.parametrize(
    "free", [FREE, Price(model="odd", input=0, output=3, cache_read=0.1, cache_write=2, window_tokens=900)]
)
def test_free_model_in_every_schedule(schedule, free):
    """R159: requests are made, after each turn, with a warm cache and a cold one, and previews and counts too."""
    talk = Conversation(model=free, project_root="/p")
    for number, message in enumerate(HISTORY):
        talk.add(message, timestamp_ms=number * 1000)
        request = talk.request(now=number * 1000, schedule=schedule)
        assert redline.check(request.messages) == [] or message["role"] != "tool"
        talk.record_usage(input_tokens=100 * number + 1, cache_read_tokens=90 * number)
        assert request.stats is not None
    assert talk.preview(now=60 * MINUTE, schedule=schedule).explain()
    assert talk.request(now=60 * MINUTE, schedule=schedule).messages


def test_a_warm_cache_is_kept_where_it_costs_nothing():
    """R159: to read it takes no time and to write it does, so marks wait for a cold cache or a full window."""
    talk = Conversation(model=FREE, project_root="/p")
    for number, message in enumerate(HISTORY):
        talk.add(message, timestamp_ms=number * 1000)
        assert talk.request(now=number * 1000).strikes == ()
    assert talk.request(now=60 * MINUTE).strikes
    small = Conversation(HISTORY, model=replace_window(FREE, 1000), project_root="/p")
    assert small.request(now=1).strikes


def replace_window(price, tokens):
    return Price(model=price.model, input=0, output=0, cache_read=0, cache_write=0, window_tokens=tokens)


def test_free_model_in_an_editor():
    """R159: the same for whoever resends a list."""
    editor = Editor(policy=replace(redline.Policy.documents(), schedule="when_free", project_root="/p"))
    for end in range(1, len(HISTORY) + 1, 2):
        made = editor.edit(HISTORY[:end], model=FREE, now=end * MINUTE)
        editor.report(made, {"input_tokens": 100 * end, "output_tokens": 3})
    assert editor.edit(HISTORY, model=FREE, now=300 * MINUTE).strikes


prices = st.floats(1e-6, 1e6) | st.sampled_from([0, 0.0, 1e-12])


@tries(40, deadline=None)
@given(fresh=prices, output=prices, read=prices, write=prices, minutes=st.floats(0, 1e6), gap=st.integers(0, 10**7))
def test_any_price_makes_requests(fresh, output, read, write, minutes, gap):
    """R159: whatever it costs, and also if nothing does."""
    own = Price(model="m", input=fresh, output=output, cache_read=read, cache_write=write, lifetime_minutes=minutes)
    assert WhenFree.for_model(own).rates.read >= 0
    talk = Conversation(model=own, project_root="/p")
    for number, message in enumerate(HISTORY[:17]):
        talk.add(message, timestamp_ms=0)
        if number % 4 == 0:
            talk.request(now=number * gap)
            talk.record_usage(input_tokens=1000)
