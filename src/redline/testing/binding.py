"""A provider's memory of its reasoning: each block is taken back only with everything before it as it was."""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from redline.values.payloads import canonical

__all__ = ["ReasoningBinder"]

_REASONING = ("thinking", "redacted_thinking")


class _Before(msgspec.Struct, frozen=True):
    """What comes before a block of reasoning."""

    digest: str
    """Of all but reasoning."""
    earlier: tuple[str, ...]
    """The signatures of the reasoning that was sent."""


class ReasoningBinder:
    """Signs the reasoning of Anthropic's Messages API, and refuses a request in which it is bound to something else.

    Reasoning may be left out from the front on, but not where the model still waits for the results of its calls.
    """

    def __init__(self) -> None:
        self._made: dict[str, _Before] = {}
        """By signature, what came before the block when it was made."""
        self._before_call: dict[str, str] = {}
        """By id of a call, the signature of the reasoning that led to it."""

    def complaint(self, body: dict[str, Any]) -> str | None:
        """Why the request is refused; None if it is not."""
        past = _Past(body)
        for place, message in enumerate(body["messages"]):
            for number, block in enumerate(_blocks(message)):
                if block.get("type") in _REASONING and not self._fits(block, past.now()):
                    return f"messages.{place}.content.{number}: `thinking` block is bound to a different conversation"
                past.add(message["role"], block)
        sent = past.now().earlier
        for block in _blocks(body["messages"][-1]):
            call = block["tool_use_id"] if block.get("type") == "tool_result" else None
            if call in self._before_call and self._before_call[call] not in sent:
                return f"Expected `thinking` before the call {call} that is being answered"
        return None

    def sign(self, body: dict[str, Any], content: list[dict[str, Any]]) -> None:
        """Sign the reasoning in an answer to a request."""
        past = _Past(body)
        for message in body["messages"]:
            for block in _blocks(message):
                past.add(message["role"], block)
        signature = ""
        for block in content:
            if block["type"] in _REASONING:
                signature = block["signature"] = f"signature-{len(self._made)}"
                self._made[signature] = past.now()
            elif block["type"] == "tool_use" and signature:
                self._before_call[block["id"]] = signature
            past.add("assistant", block)

    def _fits(self, block: dict[str, Any], now: _Before) -> bool:
        """Whether all that came before it when it was made is there, but for reasoning that was left out from the front on."""
        made = self._made.get(str(block.get("signature")))
        if made is None or made.digest != now.digest:
            return False
        return made.earlier[len(made.earlier) - len(now.earlier) :] == now.earlier


class _Past:
    """Collects what comes before a place in a request."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._digest = hashlib.sha256(canonical([body.get("system"), body.get("tools")]))
        self._earlier: tuple[str, ...] = ()

    def add(self, role: str, block: dict[str, Any]) -> None:
        if block.get("type") in _REASONING:
            self._earlier += (str(block.get("signature")),)
            return
        said = {key: value for key, value in block.items() if key != "cache_control"}
        self._digest.update(canonical([role, said]))

    def now(self) -> _Before:
        return _Before(self._digest.copy().hexdigest(), self._earlier)


def _blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = message["content"]
    yield from [{"type": "text", "text": content}] if isinstance(content, str) else content
