"""Reasoning carries the signature of the provider that made it."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["SignedReasoning"]


class SignedReasoning(FlawLaw):
    """Reasoning carries the signature of the provider that made it."""

    name: ClassVar[str] = "signed_reasoning"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "a thinking block needs its signature, redacted_thinking its data",
    }
