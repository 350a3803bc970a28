"""Every place where a list of messages breaks a law of its provider."""

from collections.abc import Sequence

from redline.formats import read_history
from redline.laws import History, Problem, problems_of
from redline.values.payloads import Payload

__all__ = ["check"]


def check(messages: Sequence[Payload], *, format: str = "auto") -> list[Problem]:
    """Every problem that would make the provider refuse these messages, in order; an empty list if there is none."""
    chosen, history = read_history(messages, format)
    return problems_of(History.of(history, chosen))
