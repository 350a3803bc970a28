"""Settings of rules are checked when the rule is made, so that a wrong one is not found in mid-conversation."""

from collections.abc import Collection, Iterable, Mapping
from os import PathLike, fspath
from typing import Any

from redline.errors import ValidationError
from redline.tools import ToolBook
from redline.values.checks import check_at_least, check_counts, check_flags, shown
from redline.values.words import DOCUMENTS, Words, make_words

__all__ = [
    "check_at_least",
    "check_counts",
    "check_flags",
    "check_texts",
    "make_names",
    "make_root",
    "make_texts",
    "make_tools",
    "shown",
    "text_of",
]


def make_texts(rule: Any, **settings: str | None) -> None:
    """Check the texts of a rule, and put the words in the place of their name."""
    check_texts(rule.name, rule.words, **settings)
    if rule.words is not None:
        object.__setattr__(rule, "words", make_words(rule.words, f"{rule.name}: "))


def check_texts(rule: str, words: Words | str | None, **settings: str | None) -> None:
    """Refuse words that are none, and texts that are neither text nor None."""
    if words is not None:
        make_words(words, f"{rule}: ")
    for name, value in settings.items():
        if not isinstance(value, str | None):
            raise ValidationError(f"{rule}: {name} must be text, or None for that of the words, not {shown(value)}")


def make_names(names: Iterable[str], rule: str, setting: str) -> frozenset[str]:
    """Names of tools in any collection as a set; a single text is refused, as it would be taken letter by letter."""
    if isinstance(names, str):
        raise ValidationError(f"{rule}: {setting} must be a list of names, not the one name {names!r}; write [{names!r}]")
    if isinstance(names, bytes | Mapping) or not isinstance(names, Iterable):
        raise ValidationError(f"{rule}: {setting} must be a list of names of tools, not {type(names).__name__}")
    made = tuple(names)
    for name in made:
        if not isinstance(name, str):
            raise ValidationError(f"{rule}: {setting} must hold names of tools, not {shown(name)}")
    return frozenset(made)


def make_tools(tools: Collection[str] | ToolBook | None, rule: str) -> frozenset[str] | ToolBook | None:
    """The setting `tools` as a value that compares and hashes: names as a set, a book or None as it is."""
    if tools is None or isinstance(tools, ToolBook):
        return tools
    return make_names(tools, rule, "tools")


def make_root(root: str | PathLike[str], rule: str) -> str:
    """The root of a project as text."""
    path = fspath(root) if isinstance(root, str | PathLike) else root
    if not isinstance(path, str):
        raise ValidationError(f"{rule}: project_root must be a path as text, not {shown(root)}")
    return path


def text_of(own: str | None, words: Words | None, name: str) -> str:
    """What a rule puts in the place of a part: its own text, else the one of this name in its words, or the documents'."""
    text: str = getattr(words or DOCUMENTS, name) if own is None else own
    return text
