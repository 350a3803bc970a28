"""What a conversation is given is refused when it is given, with what it should be."""

import asyncio
import math

import pytest

import redline
from redline import Conversation, Policy, ValidationError
from redline.conversation import aio
from redline.schedules import Eager, Rates, WhenFree

WRONG = [True, -1, math.nan, 10**400, b"x", [[]], {"a": object()}, object(), int]
HELLO = {"role": "user", "content": "hi"}
SETTINGS = ["messages", "tools", "log", "clock", "format", "redact", "counter", "blobs", "name", "model", "system", "policy"]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_wrong_setting_is_refused(setting, wrong):
    """When the conversation is made, or its first message is said, never with an error of Python's own (R35, R51)."""
    if setting in ("clock", "redact") and callable(wrong):
        pytest.skip("a class can be called")
    with pytest.raises(ValidationError):
        Conversation(**{setting: wrong}).add(HELLO)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: type(one).__name__)
def test_an_address_that_is_none_is_refused(wrong):
    """Wherever one is taken (R17, R51)."""
    talk = Conversation([{"role": "user", "content": "word " * 100}, HELLO])
    for call in (redline.open, talk.fork, lambda log: talk.compact(lambda _: "s", keep_last=1, log=log)):
        with pytest.raises(ValidationError):
            call(wrong)


@pytest.mark.parametrize("address", ["a\0b.jsonl", "\ud800.jsonl", "sqlite:///a\0b.db#x"])
def test_an_address_that_no_file_can_have_is_refused(address):
    """With the reason, before anything is made (R51)."""
    for call in (redline.open, Conversation([HELLO]).fork, lambda log: Conversation(log=log)):
        with pytest.raises(ValidationError, match="no file name can have"):
            call(address)


@pytest.mark.parametrize("wrong", [*WRONG, Eager], ids=lambda one: type(one).__name__)
def test_a_schedule_that_is_none_is_refused(wrong):
    """In the policy and for one request (R35)."""
    talk = Conversation([HELLO])
    for call in (lambda: Policy(schedule=wrong), lambda: talk.request(schedule=wrong), lambda: talk.preview(schedule=wrong)):
        with pytest.raises(ValidationError, match="A schedule is a name"):
            call()


@pytest.mark.parametrize("wrong", [True, -1, math.nan, 10**400, "5m", b"x"], ids=repr)
@pytest.mark.parametrize("setting", ["rates", "lifetime_ms", "window_tokens", "tier_tokens", "tier_factor"])
def test_wrong_numbers_of_when_free_are_refused(setting, wrong):
    """When the schedule is made (R35)."""
    with pytest.raises(ValidationError, match=setting):
        WhenFree(**{setting: wrong})
    with pytest.raises(ValidationError, match="read"):
        Rates(read=wrong)


def test_functions_and_steps_are_checked():
    """A callback, a summary and the steps of a compaction (R51)."""
    talk = Conversation([HELLO, HELLO])
    for call in (
        lambda: talk.on_token_limit(None),
        lambda: talk.compact_when(tokens=1, summarize=None, keep_last=1),
        lambda: talk.finish_compaction(None, "text"),
    ):
        with pytest.raises(ValidationError):
            call()
    assert len(talk.request().messages) == 2


@pytest.mark.parametrize("made", [b"", b"[]", b"{}", "text", None], ids=repr)
def test_what_redaction_makes_must_be_a_message(tmp_path, made):
    """Else nothing is stored, and the log opens (R51)."""
    talk = redline.open(tmp_path / "chat.jsonl", redact=lambda _: made)
    with pytest.raises(ValidationError, match="What redact makes of the message"):
        talk.add(HELLO)
    talk.close()
    assert redline.open(tmp_path / "chat.jsonl").all_messages == []


def test_functions_are_checked_under_asyncio_too():
    """Where they are given, not when they are called (R51)."""

    async def run():
        async with aio.Conversation(Conversation([HELLO, HELLO])) as talk:
            assert repr(talk) == "<aio Conversation 'memory': openai_chat, 2 messages, 0 strikes>"
            for call in (
                lambda: talk.on_token_limit(None),
                lambda: talk.compact(None, keep_last=1),
                lambda: talk.compact_when(tokens=1, summarize=None, keep_last=1),
            ):
                with pytest.raises(ValidationError, match="must be a function"):
                    await call()

    asyncio.run(run())
