"""What a tool call does, in one line for people, and the lines that an edit takes out and puts in."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from redline.tools import describe
from redline.tools.actions import (
    Action,
    Asks,
    Fetches,
    Lists,
    Notes,
    Reads,
    Resumes,
    Runs,
    Searches,
    SearchesWeb,
    Writes,
)
from redline.values.messages import ToolCall

__all__ = ["DiffLine", "call_words", "edit_lines"]

DiffLine = tuple[str, str]
"""`+`, `-` or a space, and the line."""

_LONGEST = 160
_MOST_LINES = 2_000
"""Of an edit; larger ones are shown as what went and what came."""
_OLD = ("old_string", "old_str", "oldString", "old_text", "oldText")
_NEW = ("new_string", "new_str", "newString", "new_text", "newText")
_WHOLE = ("content", "file_text", "contents")
_PATCHES = ("input", "patch", "patch_text", "patchText", "diff")
_PATCH_SIGNS = ("*** Begin Patch", "--- ", "diff --git ")


def call_words(call: ToolCall) -> str:
    """What the call does: `reads src/app.py, lines 1 to 40`, `runs npm test`; its arguments where nobody knows the tool."""
    said = list(dict.fromkeys(map(_words_of, describe(call))))
    if not said:
        arguments = (f"{name}: {_one_line(value)}" for name, value in call.arguments.items())
        said = [", ".join(arguments)]
    words = "; ".join(said)
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _words_of(action: Action) -> str:  # noqa: C901 - one case for each kind of action
    match action:
        case Reads(path, None):
            return f"reads {path}"
        case Reads(path, (first, last)):
            return f"reads {path}, lines {first} to {'the end' if last == -1 else last}"
        case Writes(path, is_edit):
            return f"{'edits' if is_edit else 'writes'} {path}"
        case Lists(path, pattern):
            return f"lists {path}" + (f", {pattern}" if pattern else "")
        case Searches(pattern, paths):
            return f"searches {', '.join(paths)} for {_one_line(pattern)}"
        case Runs(command):
            return f"runs {_one_line(command)}"
        case Resumes(process):
            return f"goes on with {process}"
        case Fetches(url):
            return f"fetches {url}"
        case SearchesWeb(query):
            return f"searches the web for {query}"
        case Asks(words, whom):
            return f"asks {'the user' if whom == 'user' else 'an agent'}: {_one_line(words)}"
        case Notes():
            return "makes a note"
        case _:
            return "reads a file"


def _one_line(value: object) -> str:
    return " ".join(str(value)[: 2 * _LONGEST].split())


def edit_lines(call: ToolCall) -> list[DiffLine] | None:
    """The lines that a call takes out of a file and puts into it; None for a call that changes none, or does not say how."""
    arguments = call.arguments
    edits = arguments.get("edits")
    pairs = [pair for one in (edits if isinstance(edits, list) else [arguments]) if (pair := _replacement(one)) is not None]
    if pairs:
        return [line for old, new in pairs for line in _difference(old, new)]
    if not any(isinstance(action, Writes) for action in describe(call)):
        return None
    if patch := _text(arguments, _PATCHES):
        return list(_patch_lines(patch)) if patch.lstrip().startswith(_PATCH_SIGNS) else None
    whole = _text(arguments, _WHOLE)
    return [("+", line) for line in whole.splitlines()] if whole is not None else None


def _replacement(edit: object) -> tuple[str, str] | None:
    if not isinstance(edit, Mapping):
        return None
    old, new = _text(edit, _OLD), _text(edit, _NEW)
    return (old, new or "") if old is not None else None


def _text(arguments: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)


def _difference(old: str, new: str) -> Iterator[DiffLine]:
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_LINES:
        yield from (("-", line) for line in before)
        yield from (("+", line) for line in after)
        return
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from ((" ", line) for line in before[start:end])
            continue
        yield from (("-", line) for line in before[start:end])
        yield from (("+", line) for line in after[new_start:new_end])


def _patch_lines(patch: str) -> Iterator[DiffLine]:
    for line in patch.splitlines():
        is_change = line[:1] in ("+", "-") and not line.startswith(("+++", "---"))
        yield (line[0], line[1:]) if is_change else (" ", line.removeprefix(" "))
