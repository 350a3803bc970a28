"""What a kind of secret is: the word in its place, the pattern that finds it, and what to look for first."""

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["MARK", "Secret", "secret_kind"]

MARK = "[redacted "
"""How the word in the place of a secret begins. What holds it is no secret any more, so doing it again changes nothing."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A kind of secret, and how it is recognised."""

    name: str
    """What is written in its place, between brackets."""
    expression: str
    """What goes is the group `secret`; what is matched besides stays. It must take linear time: whatever may be repeated and
    still fail is possessive or limited, or ends where the next one starts."""
    hints: tuple[str, ...]
    """A text that in small letters holds none of these holds no such secret. To look for them is faster than to match."""
    is_one_word: bool = False
    """Whether it has no spaces and is long, so that its hints are in a long word of the text."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed: all of them take a tenth of a second."""
        return _compiled(self.expression)

    @property
    def marker(self) -> str:
        """What is written in its place."""
        return f"{MARK}{self.name}]"


def secret_kind(name: str, expression: str, *hints: str) -> Secret:
    """A kind, its hints written one after the other."""
    return Secret(name, expression, hints)


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)
