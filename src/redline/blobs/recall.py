"""The way back for offloaded results: the text behind a reference, all or some lines of it, and the tool for it."""

import re
from collections.abc import Sequence
from typing import Any

from redline.blobs import Blobs
from redline.errors import ValidationError

__all__ = ["recall", "recall_tool"]

_REFERENCE = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"\s*(?P<first>\d{1,9})?\s*(?P<dash>-)?\s*(?P<last>\d{1,9})?\s*")


def recall(reference: str, blobs: Blobs, *, lines: str | tuple[int, int] | None = None, grep: str | None = None) -> str:
    """What an offload stub refers to.

    `lines` is a pair of line numbers counted from 1, or as a model writes it: `10-40`, `10-`, `-20` for the last 20.
    `grep` keeps the lines in which a regular expression is found, with their numbers. The whole stub, or the line of
    it that holds the reference, is taken for the reference too.
    """
    content = blobs.get(_reference_in(reference)).decode("utf-8", "surrogatepass")
    if lines is None and grep is None:
        return content
    all_lines = content.removesuffix("\n").split("\n")
    first, last = _range(lines, len(all_lines))
    chosen = all_lines[first - 1 : last]
    if not chosen:
        raise ValidationError(f"There are no lines {first} to {last}: the text has {len(all_lines)} lines, counted from 1.")
    return "\n".join(chosen) if grep is None else _found(chosen, first, grep)


def recall_tool(format: str, *, name: str = "recall") -> dict[str, Any]:
    """The definition of the recall tool as a provider takes it among its tools.

    When the model calls it, answer with `recall(**arguments, blobs=…)`.
    """
    match format:
        case "anthropic":
            return {"name": name, "description": _DESCRIPTION, "input_schema": _schema()}
        case "openai_chat":
            function = {"name": name, "description": _DESCRIPTION, "parameters": _schema()}
            return {"type": "function", "function": function}
        case "openai_responses":
            tool = {"type": "function", "name": name, "description": _DESCRIPTION, "parameters": _schema()}
            return {**tool, "strict": False}
        case "gemini":
            return {"functionDeclarations": [{"name": name, "description": _DESCRIPTION, "parameters": _schema()}]}
        case "ai_sdk":
            return {"type": "function", "name": name, "description": _DESCRIPTION, "inputSchema": _schema()}
    known = "anthropic, openai_chat, openai_responses, gemini, ai_sdk"
    raise ValidationError(f"There is no recall tool for a format named {format!r}. Known are: {known}.")


_DESCRIPTION = (
    "Reads back a tool result that was stored elsewhere because it is long. The stub in its place names the reference. "
    "Ask for some lines or for a pattern rather than for all of it."
)


def _schema() -> dict[str, Any]:
    properties = {
        "reference": {"type": "string", "description": "The reference, exactly as the stub gives it."},
        "lines": {
            "type": "string",
            "description": "Which lines, counted from 1: 10-40, 10- or -20 for the last twenty.",
        },
        "grep": {"type": "string", "description": "A regular expression; only lines in which it is found are shown."},
    }
    return {"type": "object", "properties": properties, "required": ["reference"]}


def _reference_in(text: str) -> str:
    """The reference; out of a stub the last one, because what stands before it is the tool's own output."""
    found = _REFERENCE.findall(text)
    return found[-1] if found else text


def _range(lines: str | tuple[int, int] | None, count: int) -> tuple[int, int]:
    if lines is None:
        return 1, count
    if not isinstance(lines, str):
        return max(lines[0], 1), lines[1]
    match = _RANGE.fullmatch(lines)
    if match is None or not (match["first"] or match["last"]):
        raise ValidationError(f"lines is {lines!r}; write 10-40, 10- or -20 for the last twenty.")
    if match["first"] is None:
        return max(count - int(match["last"]) + 1, 1), count
    first = max(int(match["first"]), 1)
    if match["dash"] is None:
        return first, first
    return first, int(match["last"]) if match["last"] else count


def _found(lines: Sequence[str], first: int, grep: str) -> str:
    try:
        pattern = re.compile(grep)
    except re.error as problem:
        raise ValidationError(
            f"grep is no regular expression: {problem}. Escape special characters with a backslash."
        ) from problem
    found = [f"{number}: {line}" for number, line in enumerate(lines, first) if pattern.search(line)]
    return "\n".join(found) or f"No line matches {grep!r}."
