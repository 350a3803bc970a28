"""What readers keep of a record: token counts, times, known fields. A value of an unexpected type counts as absent."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from redline.providers.usage import Usage

_LATEST_MS = datetime.max.replace(tzinfo=UTC).timestamp() * 1000.0

TokenCount = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
"""Tokens as a file may tell them; any other number is as if it were not there."""


class ItemHead(msgspec.Struct, gc=False):
    """The kind and the id of an item that is not looked into further."""

    type: str | None = None
    id: str | None = None


class CacheCreation(msgspec.Struct, gc=False):
    """The cache writes of a request by lifetime, as Anthropic reports them beside their sum."""

    ephemeral_1h_input_tokens: TokenCount | None = None


class AnthropicTokens(msgspec.Struct, gc=False):
    """The `usage` of a message, as Anthropic's API reports it."""

    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None
    cache_creation: CacheCreation | None = None

    def as_usage(self) -> Usage:
        """The tokens of the request."""
        read, written = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        split = self.cache_creation or CacheCreation()
        return Usage(self.input_tokens or 0, self.output_tokens or 0, read, written, split.ephemeral_1h_input_tokens or 0)


def known_fields(**fields: Any) -> dict[str, Any]:
    """The metadata of a conversation: fields that a file does not tell, or tells as nothing, are left out."""
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def known_time_ms(time_ms: float | None) -> float | None:
    """The time, if it is one: NaN and what lies after the year 9999 are none."""
    return float(time_ms) if time_ms is not None and abs(time_ms) <= _LATEST_MS else None


def parse_time_ms(value: object) -> float | None:
    """Milliseconds since 1970 from an ISO time (without a zone: UTC) or a number of seconds or milliseconds; else None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return known_time_ms(value if value > 1e11 else value * 1000)
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000.0
    except (ValueError, OverflowError):  # the second for the first and the last day of all, in another zone
        return None


def fields_in(value: Any) -> dict[str, Any]:
    """The fields of an object; none for anything else."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, others passed over; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_in(value: Any) -> str:
    """A text; the empty one for anything else."""
    return value if isinstance(value, str) else ""
