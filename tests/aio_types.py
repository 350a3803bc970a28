"""What a strict type checker sees of `redline.aio`: `make check` reads this file, nothing runs it."""

from typing import Any, assert_type

from redline.conversation import aio
from redline.engine.request import Request


async def what_is_awaited_has_the_type_of_the_original(talk: aio.Conversation) -> None:
    """Of methods, of values, and of conversations that are given back."""
    assert_type(await talk.add({}, timestamp_ms=1.0), int)
    assert_type(await talk.messages, list[Any])
    assert_type(await talk.request(now=0.0), Request)
    assert_type(await talk.fork(), aio.Conversation)
    assert_type(await aio.open("chat.jsonl", token_limit=1), aio.Conversation)


async def wrong_arguments_are_found(talk: aio.Conversation) -> None:
    """Were they not, the ignores would be reported as unused."""
    await talk.add(5)  # type: ignore[arg-type]  # no message
    await talk.pin(1, 2)  # type: ignore[call-arg]  # one too many
    await aio.open("chat.jsonl", limit=1)  # type: ignore[call-arg]  # no such setting
