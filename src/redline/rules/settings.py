"""Settings of rules are checked when the rule is made, so that a wrong one is not found in mid-conversation."""

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, fields
from os import PathLike, fspath
from typing import Any, ClassVar

from redline.errors import ValidationError
from redline.tools import ToolBook
from redline.values.checks import check_at_least, check_counts, check_flags, short_repr
from redline.values.words import TEMPLATE_FIELDS, ZH, Placeholders, check_template, make_words

_FORMATTED = frozenset({"cut", "offloaded", "old_image"})
"""Texts that `str.format` fills in, so that other braces are a mistake; in placeholders of results they are left alone."""


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """The base of the rules that come with Redline: each setting is checked by its name and by the kind of its default."""

    name: ClassVar[str]
    least: ClassVar[Mapping[str, int]] = {}
    """By setting, the smallest number that it takes, where that is not 0."""
    texts: ClassVar[Mapping[str, str]] = {}
    """By setting, the field of `Placeholders` (src/redline/values/words.py) that holds its text where the setting is None."""

    def __post_init__(self) -> None:
        for field in fields(self):
            name, given = field.name, getattr(self, field.name)
            made = given
            if name == "words":
                made = given if given is None else make_words(given, f"{self.name}: ")
            elif name == "project_root":
                made = make_root(given, self.name)
            elif name == "whole_in":
                made = given if given is None else make_root(given, self.name, name)
            elif name in ("spared_tools", "spared_folds") or (
                name == "tools" and given is not None and not isinstance(given, ToolBook)
            ):
                made = make_names(given, self.name, name)
            elif name != "tools":
                self._check_value(field, given)
            if made is not given:
                object.__setattr__(self, name, made)
        for setting, words_field in self.texts.items():
            if words_field in _FORMATTED:
                check_template(self.text(setting), self.name, *TEMPLATE_FIELDS[words_field])

    def _check_value(self, field: Field[Any], value: Any) -> None:
        name, least, is_text = field.name, self.least.get(field.name, 0), isinstance(value, str)
        if field.type is bool:
            check_flags(self.name, **{name: value})
        elif field.type is int:
            check_counts(least, self.name, **{name: value})
        elif field.type is float:
            check_at_least(least, self.name, **{name: value})
        elif value is None and field.default is None:
            pass
        elif name in self.texts and not is_text:
            raise ValidationError(f"{self.name}: {name} must be text, or None for that of the words, not {short_repr(value)}")
        elif name not in self.texts and not (is_text and value):
            wanted = "the name of a tool" if field.default else "the name of a tool, or None"
            raise ValidationError(f"{self.name}: {name} must be {wanted}, not {short_repr(value)}")

    def language(self) -> Placeholders:
        """The placeholders of the rule; the documents' where it has none."""
        return getattr(self, "words", None) or ZH

    def text(self, setting: str) -> str:
        """What is put in the place of a part: the rule's own text, also an empty one, or else that of its words."""
        own: str | None = getattr(self, setting)
        text: str = getattr(self.language(), self.texts[setting]) if own is None else own
        return text


def check_words(owner: str, words: Placeholders | str | None) -> None:
    """Refuse words that are none."""
    if words is not None:
        make_words(words, f"{owner}: ")


def make_names(names: Iterable[str], rule: str, setting: str) -> frozenset[str]:
    """Names of tools in any collection as a set; a single text is refused, as it would be taken letter by letter."""
    if isinstance(names, str):
        raise ValidationError(f"{rule}: {setting} must be a list of names, not the one name {names!r}; write [{names!r}]")
    if isinstance(names, bytes | Mapping) or not isinstance(names, Iterable):
        raise ValidationError(f"{rule}: {setting} must be a list of names of tools, not {type(names).__name__}")
    made = tuple(names)
    for name in made:
        if not isinstance(name, str):
            raise ValidationError(f"{rule}: {setting} must hold names of tools, not {short_repr(name)}")
    return frozenset(made)


def make_root(root: str | PathLike[str], rule: str, setting: str = "project_root") -> str:
    """The root of a project, or another folder, as text."""
    path = fspath(root) if isinstance(root, str | PathLike) else root
    if not isinstance(path, str):
        raise ValidationError(f"{rule}: {setting} must be a path as text, not {short_repr(root)}")
    return path
