"""Anthropic's Messages API: the history is under `messages`, the system prompt beside it."""

import re
from typing import Any

import msgspec

from redline.wire.base import ABSENT, Api, Cut, read_raw
from redline.wire.body import Body
from redline.wire.sessions import account_in_user_id, session_in_user_id

__all__ = ["AnthropicApi", "AnthropicCut"]

_BILLING = "x-anthropic-billing-header"
"""How Claude Code's first block begins where it bills its maker: new with every request, and outside of the cache key."""
_TTL = re.compile(rb'"cache_control"\s*:\s*\{[^{}]*"ttl"\s*:\s*"(5m|1h)"')
_MOST_MARKED = 4
"""How many marks a request may have: they are looked for in so many messages from the end."""


class AnthropicCut(Cut, kw_only=True):
    """The fields of a body of Messages that Redline looks at."""

    system: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT
    tool_choice: msgspec.Raw = ABSENT
    thinking: msgspec.Raw = ABSENT
    output_config: msgspec.Raw = ABSENT
    speed: msgspec.Raw = ABSENT
    mcp_servers: msgspec.Raw = ABSENT
    metadata: msgspec.Raw = ABSENT
    thread: msgspec.Raw = ABSENT
    cache_control: msgspec.Raw = ABSENT


class AnthropicApi(Api):
    """`POST /v1/messages`, and what speaks it. Tokens that are only counted, batches and threads of others are not taken."""

    name = "anthropic"
    provider = "anthropic"
    path = re.compile(r"^(?!.*/threads/)(?:.*/)?messages$")
    fields = AnthropicCut

    def _read(self, raw: bytes, messages: tuple[bytes, ...], cut: AnthropicCut, path: str) -> Body:  # noqa: ARG002 - not said there
        system, tools = read_raw(cut.system), read_raw(cut.tools)
        preamble = {
            "system": _unmarked(_without_billing(system)),
            "tools": _unmarked(tools),
            **{name: read_raw(getattr(cut, name)) for name in _IN_CACHE_KEY},
        }
        metadata = read_raw(cut.metadata)
        user_id = metadata.get("user_id") if isinstance(metadata, dict) else None
        model = read_raw(cut.model)
        return Body(
            raw,
            self.name,
            messages,
            model if isinstance(model, str) else "",
            {name: held for name, held in preamble.items() if held is not None},
            session_in_user_id(user_id),
            _lifetime(cut, messages, raw),
            read_raw(cut.stream) is True,
            _why_untouchable(cut, system),
            account_in_user_id(user_id),
        )


_IN_CACHE_KEY = ("tool_choice", "thinking", "output_config", "speed", "mcp_servers")


def _texts(system: Any) -> list[str]:
    blocks = system if isinstance(system, list) else [{"text": system}]
    return [str(block.get("text")) for block in blocks if isinstance(block, dict)]


def _why_untouchable(cut: AnthropicCut, system: Any) -> str:
    match read_raw(cut.thread):
        case {"type": "continue"} | {"previous_message_id": str()}:
            return "the service keeps the history (thread)"
    if any(text.startswith(_BILLING) and "cch=" in text for text in _texts(system)):
        return "the client signs the body (cch=)"
    return ""


def _without_billing(system: Any) -> Any:
    """The system prompt without the block that changes with every request."""
    if isinstance(system, str) and system.startswith(_BILLING):
        return system.partition("\n")[2]
    if not isinstance(system, list):
        return system
    return [block for block in system if not any(text.startswith(_BILLING) for text in _texts([block]))]


def _unmarked(blocks: Any) -> Any:
    """Blocks or tools without their cache marks, which clients move about."""
    if not isinstance(blocks, list):
        return blocks
    return [
        {name: held for name, held in block.items() if name != "cache_control"} if isinstance(block, dict) else block
        for block in blocks
    ]


def _lifetime(cut: AnthropicCut, messages: tuple[bytes, ...], raw: bytes) -> str:
    """The longest time that a mark asks for: taken for shorter than it is, a cache would be thrown away. Without any mark
    Anthropic caches nothing."""
    if b"cache_control" not in raw:
        return "none"
    written = set()
    if isinstance(mark := read_raw(cut.cache_control), dict):
        written.add(mark.get("ttl"))
    for piece in (bytes(cut.system), bytes(cut.tools), *messages[-_MOST_MARKED:]):
        if b'"ttl"' in piece:
            written |= {found.decode() for found in _TTL.findall(piece)}
    return next((lifetime for lifetime in ("1h", "5m") if lifetime in written), "")
