"""A result that reports a failure says it in words."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["FailedResults"]


class FailedResults(FlawLaw):
    """A result that reports a failure says it in words, and in nothing else."""

    name: ClassVar[str] = "failed_results"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "content cannot be empty, and must all be text, if is_error is true",
    }
