"""The user's own words: texts in the user's name, without what agents put into them."""

import re

_SURROUNDINGS = re.compile(r"^\s*(?:<([\w-]+)[^<>]*>.*?</\1>\s*)+", re.DOTALL)
_NOT_THE_USER = ("<", "Caveat:", "# AGENTS.md", "# Context from my IDE", "[Request interrupted")
"""How texts begin that agents send in the user's name: surroundings, reminders, instructions."""


def own_words(text: str) -> str:
    """A text without the surroundings that an agent put in front of it; empty if nothing else is in it."""
    own = _SURROUNDINGS.sub("", text)
    return "" if own.lstrip().startswith(_NOT_THE_USER) else own
