"""Settings of rules are checked when the rule is made, so that a wrong one is not found in mid-conversation."""

import sys
from collections.abc import Collection, Iterable, Mapping
from os import PathLike, fspath

from redline.errors import ValidationError
from redline.tools import ToolBook
from redline.values.words import DOCUMENTS, Words

__all__ = [
    "check_at_least",
    "check_counts",
    "check_flags",
    "check_texts",
    "make_names",
    "make_root",
    "make_tools",
    "shown",
    "text_of",
]

_LARGEST = 1e300
"""Beyond this, sums and quotients of numbers may overflow."""


def check_at_least(least: float, rule: str, **settings: float) -> None:
    """Refuse settings that are no finite numbers, or less than this."""
    for name, value in settings.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not least <= value <= _LARGEST:
            raise ValidationError(f"{rule}: {name} must be a finite number of at least {least}, not {shown(value)}")


def check_counts(least: int, rule: str, **settings: int) -> None:
    """Refuse settings that are no whole numbers, or less than this, or more than any list can hold."""
    for name, value in settings.items():
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= sys.maxsize:
            raise ValidationError(f"{rule}: {name} must be a whole number of at least {least}, not {shown(value)}")


def check_flags(rule: str, **settings: bool) -> None:
    """Refuse settings that are neither True nor False."""
    for name, value in settings.items():
        if not isinstance(value, bool):
            raise ValidationError(f"{rule}: {name} must be True or False, not {shown(value)}")


def check_texts(rule: str, words: Words | None, **settings: str | None) -> None:
    """Refuse words that are none, and texts that are neither text nor None."""
    if not isinstance(words, Words | None):
        raise ValidationError(f"{rule}: words must be redline.DOCUMENTS, redline.EN or Words of your own, not {shown(words)}")
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


def shown(value: object) -> str:
    """A wrong value as an error names it; some cannot be written, such as numbers of thousands of digits."""
    try:
        return repr(value)
    except (RecursionError, ValueError):
        return f"a value of type {type(value).__name__}"


def text_of(own: str | None, words: Words | None, name: str) -> str:
    """What a rule puts in the place of a part: its own text, else the one of this name in its words, or the documents'."""
    text: str = getattr(words or DOCUMENTS, name) if own is None else own
    return text
