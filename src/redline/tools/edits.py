"""The lines that an edit takes out of a file and puts into it, as far as its call says."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from redline.tools.description import describe
from redline.tools.tool import Writes
from redline.values.messages import ToolCall

DiffLine = tuple[str, str]
"""`+`, `-` or a space, and the line."""

_MOST_LINES = 2_000
"""Of an edit; larger ones are shown as what went and what came."""
_OLD = ("old_string", "old_str", "oldString", "old_text", "oldText")
_NEW = ("new_string", "new_str", "newString", "new_text", "newText")
_WHOLE = ("content", "file_text", "contents")
_PATCHES = ("input", "patch", "patch_text", "patchText", "diff")
_PATCH_SIGNS = ("*** Begin Patch", "--- ", "diff --git ")


def edit_lines(call: ToolCall) -> list[DiffLine] | None:
    """The lines that a call takes out of a file and puts into it; None for a call that changes none, or does not say how."""
    arguments = call.arguments
    edits = arguments.get("edits")
    pairs = [
        (old, _text(one, _NEW) or "")
        for one in (edits if isinstance(edits, list) else [arguments])
        if isinstance(one, Mapping) and (old := _text(one, _OLD)) is not None
    ]
    if pairs:
        return [line for old, new in pairs for line in _difference(old, new)]
    if not any(isinstance(action, Writes) for action in describe(call)):
        return None
    if patch := _text(arguments, _PATCHES):
        if not patch.lstrip().startswith(_PATCH_SIGNS):
            return None
        signed = [(line, line[:1] in ("+", "-") and not line.startswith(("+++", "---"))) for line in patch.splitlines()]
        return [(line[0], line[1:]) if is_change else (" ", line.removeprefix(" ")) for line, is_change in signed]
    whole = _text(arguments, _WHOLE)
    return [("+", line) for line in whole.splitlines()] if whole is not None else None


def _text(arguments: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)


def _difference(old: str, new: str) -> Iterator[DiffLine]:
    before, after = old.splitlines(), new.splitlines()
    is_large = len(before) + len(after) > _MOST_LINES
    all_of_it = [("replace", 0, len(before), 0, len(after))]
    changes = all_of_it if is_large else SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, start, end, new_start, new_end in changes:
        if kind == "equal":
            yield from ((" ", line) for line in before[start:end])
            continue
        yield from (("-", line) for line in before[start:end])
        yield from (("+", line) for line in after[new_start:new_end])
