"""Messages and blocks hold only fields that the provider takes."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["KnownFields"]


class KnownFields(FlawLaw):
    """Messages and blocks hold only fields that the provider takes: none that a store or an SDK wrote beside them."""

    name: ClassVar[str] = "known_fields"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "a message holds role and content; extra inputs are not permitted",
        "openai_chat": "fields that no server of this API takes (timestamp, id, usage, parsed) are not sent",
        "openai_responses": "a store's or a parsed response's fields are unknown parameters; ids of items are the provider's",
        "gemini": "a content holds role and parts; unknown names are refused",
    }
