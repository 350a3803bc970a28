"""A provider's prompt cache as the real ones keep it: tools, system prompt, messages; marks, a lifetime and a minimum."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from redline.providers import find_format
from redline.values.messages import Message
from redline.values.payloads import canonical

_LOOKBACK_BLOCKS = 20
_MARK = "cache_control"
_SIGNED = "x-anthropic-billing-header"
_FIRST = ("model", "prompt_cache_key", "cachedContent")
_AFTER_SYSTEM = (
    *("tool_choice", "thinking", "output_config", "speed", "reasoning_effort", "reasoning", "verbosity", "response_format"),
    *("text", "toolConfig"),
)
"""What changes the messages' place in the cache, and nothing before it."""
_LONG, _PICTURE_TOKENS = 2_000, 1_600


class ProviderCache:
    """Takes the place of `PrefixCache` in a fake provider, block by block.

    Anthropic's keeps what a mark ends, for five minutes or an hour, and finds it at most 20 blocks before a mark. The others
    keep every beginning for as long. With `is_literal` the order of keys and a text in place of a block count, as they do on
    some servers; with `counts_signed` the line that Claude Code signs does, which Anthropic leaves out.
    """

    def __init__(
        self,
        *,
        minimum_tokens: int = 1024,
        lifetime_s: float = 300.0,
        is_literal: bool = False,
        counts_signed: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._minimum_tokens, self._lifetime_s, self._clock = minimum_tokens, lifetime_s, clock
        self._is_literal, self._counts_signed = is_literal, counts_signed
        self._alive_until: dict[str, float] = {}

    def count(
        self,
        format: str,
        body: dict[str, Any],
        messages: Sequence[Message],  # noqa: ARG002 - for caches that look at them
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, int, int]:
        """The tokens of a request that are new, read and written."""
        digest, sums, chain, marks = hashlib.sha256(), [0], list[str](), dict[int, float]()
        for place, (block, mark) in enumerate(self._blocks(format, body, headers or {}), 1):
            digest.update(block)
            chain.append(digest.hexdigest())
            sums.append(sums[-1] + _tokens_of(block))
            if mark is not None:
                marks[place] = 3600.0 if mark == "1h" else self._lifetime_s
        is_marked_only, now = find_format(format).takes_cache_breakpoints, self._clock()
        if is_marked_only and body.get(_MARK):
            marks[len(chain)] = self._lifetime_s
        looked_at = set(range(1, len(chain) + 1))
        if is_marked_only:
            looked_at = {place for end in marks for place in range(max(end - _LOOKBACK_BLOCKS, 1), end + 1)}
        held = (place for place in looked_at if self._alive_until.get(chain[place - 1], 0.0) >= now)
        read = max(held, default=0)
        read = read if sums[read] >= self._minimum_tokens else 0
        kept = marks if is_marked_only else dict.fromkeys(range(1, len(chain) + 1), self._lifetime_s)
        for place, seconds in kept.items():
            if sums[place] >= self._minimum_tokens:
                self._alive_until[chain[place - 1]] = now + seconds
        end = max((place for place in marks if sums[place] >= self._minimum_tokens), default=0) if is_marked_only else 0
        written = max(sums[end] - sums[read], 0)
        return sums[-1] - sums[read] - written, sums[read], written

    def _blocks(self, format: str, body: dict[str, Any], headers: Mapping[str, str]) -> Iterator[tuple[bytes, str | None]]:
        """The blocks in the order in which they are looked up, each with the lifetime that its mark asks for."""
        betas = sorted(name.strip() for name in headers.get("anthropic-beta", "").split(","))
        yield canonical([[body.get(name) for name in _FIRST], betas]), None
        for tool in [*(body.get("tools") or []), *(body.get("functions") or [])]:
            declared = tool.get("functionDeclarations")
            for one in declared if isinstance(declared, list) else [tool]:
                yield self._block(one)
        found = find_format(format)
        system = body.get(str(found.system_field))
        held = system.get("parts") if isinstance(system, dict) else system
        for block in held if isinstance(held, list) else [held] if held is not None else []:
            text = block.get("text") if isinstance(block, dict) else block
            if self._counts_signed or not str(text).startswith(_SIGNED):
                yield self._block(block)
        yield canonical([body.get(name) for name in _AFTER_SYSTEM]), None
        for message in body[found.messages_field]:
            content = message.get("content")
            for block in content if isinstance(content, list) else [message if content is None else content]:
                block_bytes, mark = self._block(block)
                yield str(message.get("role")).encode() + block_bytes, mark

    def _block(self, block: Any) -> tuple[bytes, str | None]:
        mark = block.get(_MARK) if isinstance(block, dict) else None
        plain = {name: held for name, held in block.items() if name != _MARK} if isinstance(block, dict) else block
        if self._is_literal:
            return json.dumps(plain).encode(), mark and str(mark.get("ttl") or "5m")
        is_text = isinstance(plain, dict) and plain.keys() <= {"type", "text"}
        return canonical(plain["text"] if is_text else plain), mark and str(mark.get("ttl") or "5m")


def _tokens_of(block: bytes) -> int:
    """A third of its bytes; a picture has some hundred, however it is written."""
    words = block.split(b'"')
    return sum(_PICTURE_TOKENS if len(word) > _LONG and b" " not in word else (len(word) + 1) // 3 for word in words)
