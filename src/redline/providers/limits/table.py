"""The table of limits: what one request may hold at a provider, by the format of its messages and by model."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

import msgspec

from redline.prices.find import price_of
from redline.providers import format_of_model

Limit = Literal["request_bytes", "media", "picture_chars", "pixels", "many_pixels", "tools", "tokens"]
"""The limits that a refusal can teach."""

_SMALL_WINDOW = 200_000


class RequestLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much one request may hold. 0: nothing is known, and nothing is refused for it."""

    request_bytes: int = 0
    """Of the whole body, base64 included."""
    media: int = 0
    """Pictures and pages of documents, together."""
    picture_chars: int = 0
    """Of one picture, in base64."""
    pixels: int = 0
    """Of the longer edge of a picture."""
    many_media: int = 0
    """With more pictures than this, `many_pixels` counts in the place of `pixels`."""
    many_pixels: int = 0
    tools: int = 0
    """Functions that the model may call."""
    tokens: int = 0
    """Of the model's window, for input."""

    def lowered(self, learned: Mapping[str, int]) -> "RequestLimits":
        """The limits with what refusals taught, where that is less; names of later versions say nothing here."""
        if not learned:
            return self
        known: dict[str, int] = msgspec.structs.asdict(self)
        less = {name: min(known[name] or value, value) for name, value in learned.items() if name in known}
        return msgspec.structs.replace(self, **less)


NO_LIMITS = RequestLimits()


@cache
def limit_rows() -> dict[str, dict[str, object]]:
    """The rows of the table as they are written, by format; under `sources` where each number is from."""
    return tomllib.loads(files(__package__).joinpath("limits.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def limits_of(format: str, model: str = "") -> RequestLimits:
    """What a request of this format may hold. Of a model that nobody knows, the smallest limit of its provider's models counts:
    all of them take that. The AI SDK's messages have the limits of the provider that the model's name tells."""
    row = limit_rows().get(format) or limit_rows().get(format_of_model(model) or "")
    if row is None:
        return NO_LIMITS
    price = price_of(model) if model else None
    window = int(price.window_tokens or 0) if price is not None else 0
    known = {name: value for name, value in row.items() if isinstance(value, int)}
    if "media_small" in known and window <= _SMALL_WINDOW:
        known["media"] = known["media_small"]
    if not re.match(str(row.get("tools_of", "")), model):
        known.pop("tools", None)
    fields = RequestLimits.__struct_fields__
    return RequestLimits(**{name: value for name, value in known.items() if name in fields}, tokens=window)
