"""The tokens of one request as the provider reports them, which each counts in its own way, and what they cost."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from redline.errors import ValidationError
from redline.providers.sdk_objects import plain_value

if TYPE_CHECKING:
    from redline.prices import Price

_MOST_TOKENS = 10**12
"""More than any request has: a larger number is a mistake."""


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens as the provider reported them for one request."""

    fresh_tokens: int = 0
    """Sent, and neither read from nor written to the cache."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    """Written to the cache, for whatever lifetime."""
    cache_write_1h_tokens: int = 0
    """Of `cache_write_tokens`, those written to the one-hour cache, and never more than these."""

    def __post_init__(self) -> None:
        if self.cache_write_1h_tokens > self.cache_write_tokens:
            msgspec.structs.force_setattr(self, "cache_write_1h_tokens", self.cache_write_tokens)

    @property
    def input_tokens(self) -> int:
        """All that was sent: read from the cache, written to it, or neither."""
        return self.fresh_tokens + self.cache_read_tokens + self.cache_write_tokens

    def written_for(self, lifetime: str) -> "Usage":
        """The usage of a request that asked for this cache lifetime: `1h` counts where the provider splits nothing."""
        if lifetime != "1h" or self.cache_write_1h_tokens:
            return self
        return msgspec.structs.replace(self, cache_write_1h_tokens=self.cache_write_tokens)


def read_usage(value: object) -> Usage:
    """The tokens in a provider's usage, as an object of its SDK, a dictionary, or within a whole response.

    Anthropic and Bedrock count what was cached apart from `input_tokens`; OpenAI and Gemini count it in. Numbers under
    Redline's own names (`input_tokens`, `cache_read_tokens`, `cache_write_tokens`) can be meant either way, so there is a rule:
    fewer `input_tokens` than cached ones cannot hold these, which are then added; else they are counted in. It holds for all
    servers that speak OpenAI's Chat Completions, too.
    """
    return value if isinstance(value, Usage) else usage_in(plain_value(value))


def usage_in(given: Any) -> Usage:
    """The tokens in a usage, or in a whole response, that is plain JSON values already."""
    report = given
    while isinstance(report, dict):
        report = _snake_case(report)
        inner = next((report[name] for name in _WRAPPERS if isinstance(report.get(name), dict)), None)
        if inner is None:
            break
        report = inner
    else:
        raise ValidationError(f"{_described(report)} is no usage. {_TAKEN}")
    if not _GEMINI_NAMES.isdisjoint(report):
        sent = _sum(report, ("prompt_token_count", "tool_use_prompt_token_count"))
        output = _sum(report, ("candidates_token_count", "thoughts_token_count"))
        return _usage(sent, output, _most(report, ("cached_content_token_count",)), 0)
    sent_name = next((name for name in _SENT_NAMES if report.get(name) is not None), None)
    if sent_name is None:
        raise ValidationError(f"{_described(given)} does not say how many tokens were sent. {_TAKEN}")
    details: Mapping[str, Any] = next((report[name] for name in _DETAIL_NAMES if isinstance(report.get(name), Mapping)), {})
    read = max(_most(details, ("cached_tokens",)), _most(report, _READ_NAMES))
    written = max(_most(details, ("cache_write_tokens", "cache_creation_tokens")), _most(report, _WRITE_NAMES))
    written_1h = _count_written_1h(report, details)
    is_apart = sent_name == "input_tokens" and not _APART_NAMES.isdisjoint(report)
    sent = _count(report, sent_name) + (read + written if is_apart else 0)
    return _usage(sent, _most(report, ("completion_tokens", "output_tokens")), read, written, written_1h)


_SENT_NAMES = ("prompt_tokens", "input_tokens")
_GEMINI_NAMES = frozenset({"prompt_token_count", "candidates_token_count", "total_token_count"})
_DETAIL_NAMES = ("prompt_tokens_details", "input_tokens_details")
_APART_NAMES = frozenset({"cache_read_input_tokens", "cache_creation_input_tokens", "cache_write_input_tokens"})
"""Of Anthropic and Bedrock, which leave what is counted here out of `input_tokens`."""
_READ_NAMES = ("cache_read_input_tokens", "cache_read_tokens", "cached_input_tokens", "prompt_cache_hit_tokens")
_WRITE_NAMES = ("cache_creation_input_tokens", "cache_write_input_tokens", "cache_write_tokens")
_WRAPPERS = ("usage", "usage_metadata", "response", "message")
"""Under these names a response, or an event of a stream, holds what is looked for."""
_UPPER = re.compile(r"(?<=[a-z])[A-Z]")
_TAKEN = "Pass the usage of a response of Anthropic, OpenAI or Gemini, as it is."


def _count_written_1h(report: Mapping[str, Any], details: Mapping[str, Any]) -> int:
    """Tokens written to the one-hour cache, as Anthropic and LiteLLM count them by name, and Bedrock in a list."""
    split = report.get("cache_creation") or details.get("cache_creation_token_details")
    listed = report.get("cache_details")
    counts = [_count(report, "cache_write_1h_tokens")]
    if isinstance(split, Mapping):
        counts.append(_most(_snake_case(split), _WRITE_1H_NAMES))
    if isinstance(listed, list):
        hours = [_snake_case(one) for one in listed if isinstance(one, Mapping) and one.get("ttl") == "1h"]
        counts.append(sum(_count(one, "input_tokens") for one in hours))
    return max(counts)


_WRITE_1H_NAMES = ("ephemeral_1h_input_tokens", "ephemeral1h_input_tokens")
"""The second is left of the camel case."""


def _snake_case(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {_UPPER.sub(lambda letter: f"_{letter[0].lower()}", name): held for name, held in holder.items()}


def _usage(sent: int, output: int, read: int, written: int, written_1h: int = 0) -> Usage:
    """`sent` includes the cached tokens, unless it is less than these."""
    fresh = sent - read - written
    return Usage(fresh if fresh >= 0 else sent, output, read, written, written_1h)


def _sum(report: Mapping[str, Any], names: Iterable[str]) -> int:
    return sum(_count(report, name) for name in names)


def _most(report: Mapping[str, Any], names: Iterable[str]) -> int:
    """Servers give one number under several names, and some of these as 0."""
    return max(_count(report, name) for name in names)


def _count(report: Mapping[str, Any], name: str) -> int:
    count = report.get(name)
    if count is None:
        return 0
    if isinstance(count, bool) or not isinstance(count, int):
        raise ValidationError(f"{name} must be a whole number, not {count!r:.100}")
    if not 0 <= count <= _MOST_TOKENS:
        raise ValidationError(f"{name} must be from 0 to {_MOST_TOKENS:,}, not {'less' if count < 0 else 'more'}")
    return count


def _described(value: object) -> str:
    names = f" with {', '.join(sorted(map(str, value))[:8]) or 'nothing in it'}" if isinstance(value, dict) else ""
    return f"{type(value).__name__}{names}"


# --- what they cost

_MISSED_SHARE = 0.5
"""A cache that gives less than this of what it should hold was missed."""
_COMPACTED_SHARE = 0.6
"""A history that shrinks below this share of itself was compacted by the client."""
_SIDE_SHARE = 0.05
"""One that is smaller than this is something else of the same session: a title, a side question."""
_GREW_SHARE = 0.2
"""A request of which this much is new is dear for its growth."""


def cost_of(usage: Usage, price: "Price") -> float:
    """US dollars at list prices, each kind of token at its own."""
    return price.cost(
        fresh=usage.fresh_tokens,
        read=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        output=usage.output_tokens,
        written_1h=usage.cache_write_1h_tokens,
    )


def is_long_cached(usages: Iterable[Usage]) -> bool:
    """Whether most tokens that a session wrote to the cache went to the one-hour cache: `Price.rule` is then the long one."""
    return sum(2 * usage.cache_write_1h_tokens - usage.cache_write_tokens for usage in usages) > 0


def cache_seconds(price: "Price | None", *, is_long: bool = False) -> float:
    """How long a provider keeps what it has cached; `is_long` if it is asked to for an hour."""
    return 60 * (60.0 if is_long else price.lifetime_minutes if price else 5.0)


def cost_reason(
    usage: Usage, before: Usage | None, *, is_repeated: bool = False, is_expired: bool = False, is_rewritten: bool = False
) -> str:
    """The reason in a word, or two; empty for a request that read from the cache what it could."""
    if before is None or usage.input_tokens < before.input_tokens * _SIDE_SHARE:
        return "first"
    if is_repeated:
        return "retry"
    if usage.input_tokens < before.input_tokens * _COMPACTED_SHARE:
        return "compaction"
    could_read = before.input_tokens if before.cache_read_tokens + before.cache_write_tokens + usage.cache_read_tokens else 0
    if usage.cache_read_tokens < could_read * _MISSED_SHARE:
        return "miss, expired" if is_expired else "miss, strikes" if is_rewritten else "miss"
    if usage.input_tokens - before.input_tokens > usage.input_tokens * _GREW_SHARE:
        return "growth"
    return ""
