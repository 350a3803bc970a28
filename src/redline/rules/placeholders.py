"""A placeholder filled in: it names the tool and its file or command, the size of the result, and how to get it back."""

import re
from collections.abc import Callable
from functools import lru_cache

from redline.record.blobs.retrieval import is_recall
from redline.record.blobs.whole_results import names_whole_results, whole_content, whole_file
from redline.redaction.kinds import MARK
from redline.rules.facts import Seen
from redline.rules.results import is_replaced, kind_of_actions, size_chars
from redline.rules.worth_words import texts_of
from redline.tokens import Estimate
from redline.tools import Action, Fetches, Lists, Reads, Resumes, Runs, Searches, SearchesWeb, Writes
from redline.tools.repeatable import can_run_again, tool_only_looks
from redline.values.messages import Text, reference_to
from redline.values.words import Placeholders

_FIELD = re.compile(r"\{(what|size|again)\}")
_MOST_TOKENS, _WHAT_TOKENS = 30, 12
"""Of a placeholder, paths and addresses that must be whole aside; and of the tool and its file or command in it."""
_LONG_REFERENCE = "#12345.0"
"""As long as those of long conversations."""
_BYTES = (32, 20, 12, 7, 4)
"""Of a path or a command, and of the name of a tool: as much as fits."""
_KILO, _MEGA = 1000, 1_000_000
_ON_FILES = (Runs, Resumes, Searches, Lists)
"""What an agent does that can read a file of this machine, too. A read is had again from the file itself."""
_COUNTER = Estimate()

_SAVED_IN = re.compile(
    r"\b(?:output\b[^\n]{0,40}?(?:saved to|available at)|full output(?: see)?)[: ]\s*"
    r"(?P<path>(?:[~/.]|[A-Za-z]:)[^\s\])<>\"'`]{1,400})",
    re.IGNORECASE,
)
_SAVED_WORDS = ("saved to", "available at", "full output")
_SAVED_CHARS = 4_000
"""Agents name the file that holds all of an output in its first or last lines."""
_MOST_REMEMBERED = 32
"""Texts that are remembered: several policies are asked about a message one after the other."""


def placeholder_for(seen: Seen, template: str, words: Placeholders, *, may_grow: bool = False) -> str | None:
    """What replaces a result. None: it must stay, because it was replaced before, or because the placeholder is no shorter."""
    result = seen.result
    if result is None or is_replaced(result, words, template) or is_read_back(seen):
        return None
    chars, filled = size_chars(result), template
    if "{" in template:
        size = f"{chars} B" if chars < _KILO else f"{chars // _KILO} kB" if chars < _MEGA else f"{chars // _MEGA:,} MB"
        path = _saved_in(result.text) or whole_path(seen)
        again = _call_of_tool(seen) or (words.saved_in.replace("{file}", path) if path else way_back(seen, words))
        fields, template = {"size": size, "again": again}, template_for(template, again)

        def fill(what: str) -> str:
            return _FIELD.sub(lambda field: {**fields, "what": what}[field[1]], template)

        filled = fill_shortly(seen, fill, whole=path)
    return filled if may_grow or len(filled) < chars else None


def fill_shortly(seen: Seen, fill: Callable[[str], str], *, whole: str = "") -> str:
    """A placeholder that names the tool and what it was used on: `Read src/app.py`, `Bash npm test`. Long names are cut where
    they are least missed; `whole` is what of the placeholder cannot be cut."""
    most_tokens, filled = _MOST_TOKENS + _COUNTER.count(whole), ""
    for most in _BYTES:
        what = call_label(seen, most)
        filled = fill(what)
        tokens = _COUNTER.count(filled.replace("{reference}", _LONG_REFERENCE))
        if tokens <= most_tokens and _COUNTER.count(what) <= _WHAT_TOKENS:
            break
    return filled


def template_for(template: str, again: str) -> str:
    """A template without `; {again}` where there is no way back."""
    return template if again else template.replace("; {again}", "")


def way_back(seen: Seen, words: Placeholders) -> str:
    """How the model can have a result again; empty for what no call gave."""
    if seen.result is None:
        return ""
    match kind_of_actions(seen.actions):
        case "file read" | "edit":
            return words.read_again
        case "search":
            return words.search_again
        case "terminal":
            commands = [action.command for action in seen.actions if isinstance(action, Runs)]
            return words.run_again if commands and all(map(can_run_again, commands)) else words.may_repeat
    if any(isinstance(action, SearchesWeb) for action in seen.actions):
        return words.search_again
    is_look = tool_only_looks(seen.tool or "") and not seen.actions
    return words.call_again if is_look or any(isinstance(action, Fetches) for action in seen.actions) else words.may_repeat


def whole_path(seen: Seen) -> str:
    """The file for the text of a result that is struck; empty where the agent is not known to read files, or where another
    file has the words already."""
    folder, result = seen.way_back.folder, seen.result
    if not folder or seen.way_back.tool or result is None or not any(isinstance(one, _ON_FILES) for one in seen.actions):
        return ""
    is_whole = all(isinstance(part, Text) for part in result.parts) and MARK not in result.text
    return whole_file(folder, result.text) if is_whole else ""


def whole_of(seen: Seen, replacement: object) -> bytes | None:
    """What must be stored in the folder before a result is replaced by words that name its file; None if they name none."""
    path = whole_path(seen) if seen.way_back.folder and isinstance(replacement, str) else ""
    return whole_content(seen.result.text) if path and seen.result is not None and path in str(replacement) else None


def is_read_back(seen: Seen) -> bool:
    """Whether a result is one that the model asked for after it was struck: it stays, or the model would ask again."""
    tool, folder, call = seen.way_back.tool, seen.way_back.folder, seen.call
    if tool and is_recall(seen.tool, tool):
        return True
    return bool(folder) and call is not None and any(names_whole_results(text) for text in texts_of(call))


def _call_of_tool(seen: Seen) -> str:
    tool = seen.way_back.tool
    return f'{tool}(reference="{reference_to(seen.index, seen.place)}")' if tool and seen.result is not None else ""


def call_label(seen: Seen, most: int) -> str:
    """The tool of a call or a result, and what it was used on, each in at most so many bytes."""
    call = seen.call
    subject = next(filter(None, (_subject(action, most) for action in seen.actions)), "")
    if not subject and call is not None:
        texts = (value for value in call.arguments.values() if isinstance(value, str))
        subject = next((_shortened(text, most, keeps_end=True) for text in texts), "")
    return " ".join(filter(None, (_shortened(seen.tool or "", most, keeps_end=True), subject))) or "?"


def _subject(action: Action, most: int) -> str:
    match action:
        case Reads(place) | Writes(place) | Lists(place) | Fetches(place):
            return _shortened(place, most, keeps_end=True)
        case Runs(text) | Searches(text) | SearchesWeb(text):
            return _shortened(text, most, keeps_end=False)
    return ""


@lru_cache(maxsize=_MOST_REMEMBERED)
def _saved_in(text: str) -> str:
    """The file in which the agent saved the whole output, if the result names one: the way to it must stay."""
    for piece in (text[-_SAVED_CHARS:], text[:_SAVED_CHARS]) if len(text) > _SAVED_CHARS else (text,):
        lowered = piece.lower()  # the search takes a hundred times as long as this
        if any(words in lowered for words in _SAVED_WORDS) and (found := [*_SAVED_IN.finditer(piece)]):
            path: str = found[-1]["path"]
            return path.rstrip(".,;")
    return ""


def _shortened(text: str, most: int, *, keeps_end: bool) -> str:
    """A text in one line: the end, by which a path is known, or the beginning, by which a command is."""
    text = text[-4 * most :] if keeps_end else text[: 4 * most]
    printable = text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(printable.split()).encode("utf-8", "replace")
    if len(line) <= most:
        return line.decode()
    kept = (line[-most:] if keeps_end else line[:most]).decode(errors="ignore")
    return f"…{kept.lstrip()}" if keeps_end else f"{kept.rstrip()}…"
