"""Reads a request as its model does: each reference must lead to the words of the record, by the bytes of the request alone."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fuzz.sandbox import BrokenProperty
from redline.folds import FOLDS, fold_text
from redline.providers import find_format
from redline.tools import last_program
from redline.values import payloads
from redline.values.messages import Text, ToolCall, ToolResult
from redline.values.words import is_placeholder

__all__ = ["check_sent", "said_results"]

_REFERENCE = re.compile(
    r"\[lines (\d+)–(\d+): as in the (?:(\d+)(?:st|nd|rd|th) )?(output|input) of `(.*)` above(?:, from its line (\d+))?"
    r"(, here numbered from (\d+)|, here with `([-+ ])` before each|, without what stands before each line there)?\]"
)
_LIKE_ONE = re.compile(r"^\[lines \d+–\d+: as in the ", re.MULTILINE)
_WHOLE = re.compile(r"all of it: ([^\]]*)\]")
_START = re.compile(r"^(?:[ 0]*\d{1,7}(?:→|\t|\||: ?)|[-+ ])")
_MOST_LABEL = 48


class _Held(NamedTuple):
    """What a request shows of a call: its input or its output."""

    kind: str
    name: str
    """The tool, and what it was used on, in full."""
    lines: list[str]


def said_results(payloads_said: Iterable[Any], format_name: str) -> dict[str, list[list[str]]]:
    """By id of the call, the texts of each result that was ever said; of several versions all."""
    found: dict[str, list[list[str]]] = {}
    format = find_format(format_name)
    for payload in payloads_said:
        for part in format.read(payload).parts:
            if isinstance(part, ToolResult):
                found.setdefault(part.call_id or "", []).append(_texts(part))
    return found


def check_sent(body: bytes, said: Mapping[str, Sequence[Sequence[str]]], format_name: str) -> int:
    """Each text of each result is as it was said, a placeholder, or folded; references lead to lines that are sent before them.

    Gives how many references there are.
    """
    format, shown, count = find_format(format_name), list[_Held](), 0
    calls: dict[str, ToolCall] = {}
    for payload in payloads.decode(body):
        for part in format.read(payload).parts:
            if isinstance(part, ToolCall):
                calls[part.id or ""] = part
                shown.append(
                    _Held("input", _name(part), max(map(str, part.arguments.values()), key=len, default="").split("\n"))
                )
            elif isinstance(part, ToolResult):
                texts = _texts(part)
                call = calls.get(part.call_id or "")
                for place, text in enumerate(texts):
                    known = [one[place] for one in said.get(part.call_id or "", ()) if len(one) == len(texts)]
                    count += _check_text(text, known, call, shown)
                shown.append(_Held("output", _name(call) if call else "", texts[0].split("\n") if len(texts) == 1 else []))
    return count


def _check_text(text: str, said: Sequence[str], call: ToolCall | None, shown: Sequence[_Held]) -> int:
    if text in said or is_placeholder(text) or not said or any(one.startswith("File unchanged since") for one in said):
        return 0  # a pointer of the agent may be replaced by what it points to
    if (
        "characters left out here]" in text
        or "[Older" in text[:40]
        or text.startswith(("Interrupted", "Error: Interrupted", "[moved", "[Tool", "[Result"))
    ):
        return 0
    expanded, count = _expanded(text.split("\n"), shown)
    whole = "\n".join(expanded)
    command = last_program(str(call.arguments.get("command", ""))) if call else ""
    for one in said:
        if whole == one or any(whole == form for form in _folded_forms(one, command, whole)):
            return count
    raise BrokenProperty(f"a result says neither its words nor a fold of them: {text[:300]!r} for {said[-1][:300]!r}")


def _folded_forms(said: str, command: str, sent: str) -> Iterator[str]:
    """What folds may make of a text, as far as the request itself names the whole."""
    for place in dict.fromkeys(["", *_WHOLE.findall(sent)[:1]]):
        for folds in (tuple(FOLDS), tuple(name for name in FOLDS if name not in ("repeated_lines", "json_tables"))):
            folded = fold_text(said, command, whole=place, folds=folds)
            if folded is not None:
                yield folded.text


def _expanded(lines: Sequence[str], shown: Sequence[_Held]) -> tuple[list[str], int]:
    """The lines with those that references mean in their place."""
    whole, count = list[str](), 0
    for line in lines:
        found = _REFERENCE.fullmatch(line)
        if found is None:
            whole.append(line)
            continue
        first, last, which, kind, label, start, how, number, mark = found.groups()
        _require(int(first) == len(whole) + 1, f"lines are counted wrong: {line}")
        named = [one for one in shown if one.kind == kind and _is_called(one.name, label)]
        _require(bool(named), f"nothing is called so: {line} of {[one.name for one in shown]}")
        _require(bool(which) or len(named) == 1, f"which of {len(named)}: {line}")
        _require(int(which or 1) <= len(named), f"there are only {len(named)}: {line}")
        begin, size = int(start or 1) - 1, int(last) - int(first) + 1
        held = named[int(which or 1) - 1].lines[begin : begin + size]
        _require(len(held) == size, f"it has fewer lines: {line}")
        _require(not any(map(_LIKE_ONE.match, held)), f"a chain: {line}")
        _require(not any(is_placeholder(one) for one in held), f"a stub: {line}")
        if how:
            held = [_START.sub("", one, count=1) for one in held]
        if mark:
            held = [mark + one for one in held]
        if number:
            held = [f"{int(number) + place:>6}→{one}" for place, one in enumerate(held)]
        whole += held
        count += 1
    return whole, count


def _is_called(name: str, label: str) -> bool:
    """Whether a label is a name, or a long name cut at its end or at the beginning of a path."""
    if name == label:
        return True
    tool, _, subject = label.partition(" ")
    own, _, what = name.partition(" ")
    if tool != own or len(what.encode()) <= _MOST_LABEL:
        return False
    return (subject.endswith("…") and what.startswith(subject[:-1])) or (subject[:1] == "…" and what.endswith(subject[1:]))


def _name(call: ToolCall) -> str:
    subject = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    added = re.search(r"^\*\*\* Add File: (.*)$", subject, re.MULTILINE)
    return " ".join(filter(None, (call.name, " ".join((added[1] if added else subject).split()))))


def _texts(result: ToolResult) -> list[str]:
    return [part.text for part in result.parts if isinstance(part, Text)] or [result.text]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise BrokenProperty(what)
