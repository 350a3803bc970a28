"""A checker of references that knows only what is sent: each must lead to the words of the record."""

import re
from collections.abc import Sequence
from typing import Any

from redline.providers import find_format
from redline.values.messages import ToolCall, ToolResult

REFERENCE = re.compile(
    r"\[lines (?P<first>\d+)–(?P<last>\d+): as in the (?:(?P<which>\d+)[a-z]{2} )?(?P<kind>output|input) of `(?P<label>[^`]*)` "
    r"above(?:, from its line (?P<line>\d+))?"
    r"(?:, here numbered from (?P<number>\d+)|, here with `(?P<mark>[-+ ])` before each"
    r"|(?P<bare>, without what stands before each line there))?\]"
)
_PLACEHOLDERS = ("[Older tool result", "[Tool", "Interrupted before it", "Error: Interrupted before it")
AGAIN = re.compile(r"\[the line above (\d+) more times\]")
STARTS = re.compile(r"^(?: *\d+(?:→|\t|: )|[-+ ])")


def check_references(sent: Sequence[Any], all_said: Sequence[Any], format_name: str) -> int:
    """Each result is as it was said, is a placeholder, or says its lines with references that lead to them. Gives how many
    results say some of their lines with references."""
    format, referring = find_format(format_name), 0
    said = {part.call_id: part for payload in all_said for part in format.read(payload).parts if isinstance(part, ToolResult)}
    shown: list[tuple[str, str, str, list[str]]] = []
    labels: dict[str, str] = {}
    for payload in sent:
        for part in format.read(payload).parts:
            if isinstance(part, ToolCall):
                name = " ".join([part.name, *map(_subject, list(part.arguments.values())[:1])])
                labels[part.id or ""] = name
                longest = max(map(str, part.arguments.values()), key=len, default="")
                shown.append(("input", name, part.id or "", longest.split("\n")))
            elif isinstance(part, ToolResult):
                lines = part.text.split("\n")
                if part.call_id not in said:  # the repair answers interrupted calls
                    shown.append(("output", labels.get(part.call_id or "", ""), part.call_id or "", lines))
                    continue
                whole = expanded(lines, shown)
                referring += whole != lines
                if not part.text.startswith(_PLACEHOLDERS) and said[part.call_id].text != part.text:
                    assert "\n".join(repeated(whole)) == said[part.call_id].text, part.text
                shown.append(("output", labels.get(part.call_id or "", ""), part.call_id or "", lines))
    return referring


def _subject(argument: object) -> str:
    """How a call is called: by its argument, or by the file that its patch adds."""
    added = re.search(r"^\*\*\* Add File: (.*)$", str(argument), re.MULTILINE)
    return added[1] if added else str(argument)


def numbered(text: str, first: int) -> str:
    """The text as a tool shows a file, with its lines numbered."""
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(text.split("\n"), first))


def expanded(lines: list[str], shown: list[tuple[str, str, str, list[str]]]) -> list[str]:
    whole: list[str] = []
    for line in lines:
        found = REFERENCE.fullmatch(line)
        if found is None:
            whole.append(line)
            continue
        named = [held for kind, label, _, held in shown if kind == found["kind"] and label == found["label"]]
        assert found["which"] is not None or len(named) == 1, (line, [one[:3] for one in shown])
        source = named[int(found["which"] or 1) - 1]
        first, count = int(found["line"] or 1) - 1, int(found["last"]) - int(found["first"]) + 1
        assert len(whole) == int(found["first"]) - 1
        referred = source[first : first + count]
        assert len(referred) == count
        assert not any(map(REFERENCE.fullmatch, referred)), "a reference leads to words, never to a reference"
        if found["number"] or found["mark"] or found["bare"]:
            referred = [STARTS.sub("", one, count=1) for one in referred]
        if found["mark"]:
            referred = [found["mark"] + one for one in referred]
        if found["number"]:
            referred = numbered("\n".join(referred), int(found["number"])).split("\n")
        whole += referred
    return whole


def repeated(lines: list[str]) -> list[str]:
    """Lines as often as they came."""
    whole: list[str] = []
    for line in lines:
        found = AGAIN.fullmatch(line)
        whole += [whole[-1]] * int(found[1]) if found else [line]
    return whole
