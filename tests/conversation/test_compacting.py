"""Conversations compacted by an outline, by hand and by themselves: the origin stays as it was, and rollback undoes it."""

import asyncio
import threading

import msgspec
import pytest

import redline
from redline import FORMATS
from redline.prices.find import price_of
from redline.record.opening import read_log
from redline.testing import asks, conversation, says
from tests.outlines.history_of import TASK, native
from tests.record.logs import KINDS, new_address

BASE = price_of("claude-sonnet-4-6")
SMALL = msgspec.structs.replace(BASE, window_tokens=10_000)
LONG = "def total_of_items(items): ...\n" * 60


def policy(**settings):
    return redline.Policy(rules=(), strategy="answer", compact_at=0.5, **settings)


def exchanges(format, count, start=0):
    turns = [
        turn
        for number in range(start, start + count)
        for turn in asks("Read", {"file_path": f"src/m{number}.py"}, LONG, id=f"t{number}")
    ]
    return conversation(format, [says("user", "Read them all."), *turns] if start == 0 else turns)


@pytest.mark.parametrize("kind", KINDS)
def test_the_original_is_byte_for_byte_what_it_was(kind, tmp_path, request):
    """In every log: nothing is added to it, and the new conversation finds its places, after a restart too."""
    address = new_address(kind, tmp_path, request)
    with redline.open(address, format="anthropic") as talk:
        for message in native("anthropic"):
            talk.add(message)
        before = list(read_log(address).records)
        with talk.compact("outline", keep_last=2) as made:
            name = made._address
            assert made.recall("0#0.0") == TASK
    assert list(read_log(address).records) == before
    with redline.open(name) as again:
        assert again.origin == redline.record.addresses.masked(address)
        assert again.recall("0#0.0") == TASK
        with pytest.raises(redline.ValidationError):
            again.recall("7#0.0")


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_in_place_is_undone_by_rollback(format):
    """Messages and requests are as before."""
    talk = redline.Conversation(native(format), format=format)
    before = talk.request(now=0).body
    talk.compact("outline", keep_last=2, in_place=True)
    made = talk.request(now=1)
    assert made.body != before
    assert redline.check(made.messages, format=format) == []
    assert talk.recall("#0.0") == TASK
    talk.rollback(0)
    assert talk.request(now=2).body == before


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_past_its_share_a_conversation_waits_for_a_cold_cache_or_the_end_of_the_window(format):
    """Warm it waits; cold it is compacted; near the end it cannot wait. A preview says what the request will be."""
    for wait_ms, count in ((1_000, 14), (3_600_000, 14), (1_000, 21)):
        talk = redline.Conversation(exchanges(format, count), policy=policy(), model=SMALL, format=format)
        talk.request(now=0, model=BASE)
        seen = list(talk.visible_indices)
        preview = talk.preview(now=wait_ms, model=SMALL)
        assert talk.visible_indices == seen
        made = talk.request(now=wait_ms, model=SMALL)
        assert made.body == preview.body
        assert redline.check(made.messages, format=format) == []
        is_due = (wait_ms, count) != (1_000, 14)
        assert (len(talk.visible_indices) < len(seen)) == is_due
        if is_due:
            talk.rollback(0)
            assert talk.visible_indices == seen
            talk.request(now=wait_ms + 1, model=SMALL)
            assert talk.visible_indices == seen, "what was undone is not done again at once"


def test_a_model_is_asked_in_the_background_and_never_waited_for():
    """Requests go on meanwhile; its summary comes into force at the next good moment."""
    answered, asked = threading.Event(), threading.Event()

    def summarize(messages):
        asked.set()
        answered.wait(20)
        return f"{len(messages)} files were read."

    talk = redline.Conversation(exchanges("anthropic", 14), policy=policy(compact=summarize), model=SMALL)
    talk.request(now=0)
    assert asked.wait(20)
    count = len(talk.visible_indices)
    talk.request(now=3_600_000)
    assert len(talk.visible_indices) == count, "the summary is not there yet"
    answered.set()
    assert talk._background is not None
    assert talk._background[0].join(20)
    for message in exchanges("anthropic", 1, start=14):
        talk.add(message)
    made = talk.request(now=7_200_000)
    assert "files were read." in str(made.messages[0])
    assert redline.check(made.messages) == []
    assert len(talk.visible_indices) < count


def test_where_no_summary_comes_the_outline_takes_its_place():
    """A function that fails is not waited for either."""

    def fails(_):
        raise RuntimeError("no model")

    talk = redline.Conversation(exchanges("anthropic", 21), policy=policy(compact=fails), model=SMALL)
    made = talk.request(now=0)
    assert "[Outline of the earlier conversation" in str(made.messages[0])


def test_with_asyncio_the_summary_may_be_a_coroutine_function():
    """It runs on the loop."""

    async def story():
        done = asyncio.Event()

        async def summarize(messages):
            await done.wait()
            return f"{len(messages)} files were read."

        talk = redline.aio.Conversation(
            redline.Conversation(exchanges("anthropic", 14), policy=policy(compact=summarize), model=SMALL)
        )
        async with talk:
            await talk.request(now=0)
            done.set()
            await asyncio.to_thread(talk._talk._background[0].join, 20)
            made = await talk.request(now=3_600_000)
            assert "files were read." in str(made.messages[0])
            compacted = await talk.compact("outline", keep_last=1)
            assert "[Outline" in str((await compacted.messages)[0])

    asyncio.run(story())


@pytest.mark.parametrize(
    "wrong", [{"compact_at": 0}, {"compact_at": 1.5}, {"compact_at": "0.8"}, {"compact": "summary"}, {"compact": None}]
)
def test_wrong_settings_are_refused(wrong):
    """Where they are made."""
    with pytest.raises(redline.ValidationError, match=next(iter(wrong))):
        redline.Policy(**wrong)


def test_a_file_knows_the_setting(tmp_path):
    """And a function cannot be written into one."""
    (tmp_path / "redline.toml").write_text("compact_at = 0.8\n")
    made = redline.Policy.load(tmp_path / "redline.toml")
    assert made.compact_at == 0.8
    (tmp_path / "again.toml").write_text(made.toml())
    assert redline.Policy.load(tmp_path / "again.toml") == made
    with pytest.raises(redline.ValidationError, match="compact"):
        redline.Policy(compact=str).toml()
