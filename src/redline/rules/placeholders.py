"""A placeholder filled in: it names the tool and its file or command, the size of the result, and how to get it back."""

import re
from functools import lru_cache

from redline.rules.facts import Seen
from redline.rules.results import is_replaced, size_chars
from redline.rules.worth_kinds import kind_of_actions
from redline.tokens import Estimate
from redline.tools import Action, Fetches, Lists, Reads, Runs, Searches, SearchesWeb, Writes
from redline.values.words import Words

__all__ = ["placeholder_for"]

_FIELD = re.compile(r"\{(what|size|again)\}")
_WHAT_TOKENS = 12
"""So much of a placeholder is the tool and its file or command; with the rest of it, it has at most about 30."""
_BYTES = (32, 20, 12, 7)
"""Of a path or a command, and of the name of a tool: as much as fits."""
_KILO = 1000
_COUNTER = Estimate()

_SAVED_IN = re.compile(
    r"(?:saved to|available at|for full output see|full output)[: ]\s*(?P<path>(?:[~/.]|[A-Za-z]:)[^\s\])<>\"'`]{1,400})",
    re.IGNORECASE,
)
_SAVED_CHARS = 4_000
"""Agents name the file that holds all of an output in its first or last lines."""
_MOST_REMEMBERED = 32
"""Texts that are remembered: several policies are asked about a message one after the other."""


def placeholder_for(seen: Seen, template: str, words: Words, *, may_grow: bool = False) -> str | None:
    """What replaces a result. None: it must stay, because it was replaced before, or because the placeholder is no shorter."""
    result = seen.result
    if result is None or is_replaced(result, words, template):
        return None
    chars, filled = size_chars(result), template
    if "{" in template:
        fields = {"what": _what(seen), "size": _size(chars), "again": _saved_in(result.text) or _again(seen, words)}
        filled = _FIELD.sub(lambda field: fields[field[1]], template)
    return filled if may_grow or len(filled) < chars else None


def _what(seen: Seen) -> str:
    """The tool, and what it was used on: `Read src/app.py`, `Bash npm test`. Long ones are cut where they are least missed."""
    call, what = seen.call, ""
    for most in _BYTES:
        subject = next(filter(None, (_subject(action, most) for action in seen.actions)), "")
        if not subject and call is not None:
            subject = next((_end(value, most) for value in call.arguments.values() if isinstance(value, str)), "")
        what = " ".join(filter(None, (_end(seen.tool or "", most), subject))) or "?"
        if _COUNTER.count(what) <= _WHAT_TOKENS:
            break
    return what


def _subject(action: Action, most: int) -> str:
    match action:
        case Reads(path) | Writes(path) | Lists(path):
            return _end(path, most)
        case Runs(text) | Searches(text) | SearchesWeb(text):
            return _start(text, most)
        case Fetches(url):
            return _end(url, most)
    return ""


def _size(chars: int) -> str:
    return f"{chars} B" if chars < _KILO else f"{chars // _KILO:,} kB"


@lru_cache(maxsize=_MOST_REMEMBERED)
def _saved_in(text: str) -> str:
    """The file in which the agent saved the whole output, if the result names one: the way to it must stay."""
    found = [*_SAVED_IN.finditer(text[:_SAVED_CHARS]), *_SAVED_IN.finditer(text[-_SAVED_CHARS:])]
    return found[-1]["path"].rstrip(".,;") if found else ""


def _again(seen: Seen, words: Words) -> str:
    match kind_of_actions(seen.actions):
        case "terminal":
            return words.run_again
        case "file read" | "edit":
            return words.read_again
        case "search":
            return words.search_again
    return words.run_again if seen.is_terminal else words.call_again


def _start(text: str, most: int) -> str:
    """The beginning of a text in one line, by which a command is known."""
    line = _one_line(text[: 4 * most]).encode("utf-8", "replace")
    return line.decode() if len(line) <= most else line[:most].decode(errors="ignore").rstrip() + "…"


def _end(text: str, most: int) -> str:
    """The end of a text in one line, by which a path is known."""
    line = _one_line(text[-4 * most :]).encode("utf-8", "replace")
    return line.decode() if len(line) <= most else "…" + line[-most:].decode(errors="ignore").lstrip()


def _one_line(text: str) -> str:
    printable = text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())
