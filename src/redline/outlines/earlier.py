"""Items of an outline, as lines, and back: an outline that a history begins with is carried over into the next."""

import re
from typing import Literal

import msgspec

from redline.values.words import EN, ZH, Placeholders

Section = Literal["user", "plan", "failures", "files", "decisions", "words"]
SECTIONS: tuple[Section, ...] = ("user", "plan", "failures", "files", "decisions", "words")
"""In the order in which an outline has them."""

_LINE = re.compile(r"- (?P<reference>\d*#\d+\.\d+) (?P<text>.*)")
_USER_TEXT = re.compile(r"(?P<reference>\d*#\d+\.\d+) \(.{1,20}: (?P<shown>\d+)(?: …)?\)")
_SUMMARY_LEADS = (
    "Summary of the earlier conversation:",
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
    "<state_snapshot>",
    "<conversation_summary>",
)
"""How the summaries of a model begin, of Redline's callers and of agents."""


class LineItem(msgspec.Struct, frozen=True):
    """A fact, a sentence, a text of the user, or names: with the place in the record that it is from."""

    section: Section
    reference: str
    text: str
    """In one line, but for what the user said."""
    order: int = 0
    """Counts up with the history."""
    worth: float = 0.0
    """What it counts for, beside the words that are expected to be needed."""


def heading(section: Section, words: Placeholders) -> str:
    """The line before the items of a section."""
    text: str = getattr(words, f"outline_{section}")
    return text


def is_outline(text: str, words: Placeholders = EN) -> bool:
    """Whether a text is an outline, in these words or in any that come with Redline."""
    texts = (getattr(one, name) for one in (words, EN, ZH) for name in ("outline", "outline_recalled"))
    return text.startswith(tuple(beginning for text in texts if (beginning := text.partition("{")[0])))


def parse_outline(text: str, order: int, words: Placeholders = EN, generation: int | None = None) -> list[LineItem] | None:
    """The items of an outline; None for another text. A reference that names no conversation is of this generation."""
    if not is_outline(text, words):
        return None
    sections = {heading(section, one): section for one in (EN, ZH, words) for section in SECTIONS}
    items, section, lines = list[LineItem](), None, text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line in sections:
            section = sections[line]
            continue
        found = (_USER_TEXT if section == "user" else _LINE).fullmatch(line)
        if section is None or found is None:
            continue
        reference = found["reference"]
        if reference.startswith("#") and generation is not None:
            reference = f"{generation}{reference}"
        said = line[found.end("reference") + 1 :]
        if section == "user":
            count = int(found["shown"])
            said = "\n".join(lines[number : number + count])
            number += count
        items.append(LineItem(section, reference, said, order + len(items), worth=0.3))
    return items


def find_summary(text: str) -> str | None:
    """The words of a summary that a model wrote, if a text is one."""
    stripped = text.lstrip()
    return stripped if stripped.startswith(_SUMMARY_LEADS) else None
