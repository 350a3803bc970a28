"""Actions that agents without native tools write as text, read as calls: a fenced block, a tag, a function, a line."""

import re
from collections.abc import Callable
from typing import Any, Literal, get_args

from redline.tools import ToolBook
from redline.values import payloads
from redline.values.messages import ToolCall

ActionKind = Literal["function", "tag", "line", "block"]
ACTIONS: tuple[ActionKind, ...] = get_args(ActionKind)

NOWHERE = ("said",)
"""Where such a call is: at no place in its message, so that no rule can strike the words that it was read from."""
_SHELL, _PYTHON = "bash", "execute_ipython_cell"
_LANGUAGES = {
    **dict.fromkeys(("bash", "sh", "shell", "console", "mswea_bash_command"), _SHELL),
    **dict.fromkeys(("python", "py", "ipython"), _PYTHON),
}
_TAGS = {"<execute_bash>": _SHELL, "<execute_ipython>": _PYTHON, "<execute>": _PYTHON}
_ACTION_LINE = re.compile(r"^[ \t*]{0,9}Action(?: ?\d{1,4})?\*{0,2}:\*{0,2}[ \t]{0,9}(?:\r?\n)?", re.MULTILINE)
_INPUT_LINE = re.compile(r"^[ \t*]{0,9}Action Input(?: ?\d{1,4})?\*{0,2}:\*{0,2}[ \t]{0,9}", re.MULTILINE)
_BRACKETED = re.compile(r"([\w.-]{1,64})[ \t]?[\[(]([^\n]*)[\])][ \t]*")
_NAMES, _INPUTS = ("action", "tool", "tool_name", "name"), ("action_input", "arguments", "args", "input", "parameters")


def find_call(text: str, kind: ActionKind, tools: ToolBook) -> ToolCall | None:
    """The last action of a kind in what the assistant said; None without one."""
    return _FINDERS[kind](text, tools)


def _function(text: str, tools: ToolBook) -> ToolCall | None:  # noqa: ARG001 - the arguments have names
    """`<function=name>` with `<parameter=key>` inside, as OpenHands and SWE-smith have it."""
    start = text.rfind("<function=")
    name, bracket, body = text[start:].removeprefix("<function=").partition(">")
    if start < 0 or not bracket or not name.strip():
        return None
    given = (one.partition(">") for one in body.partition("</function>")[0].split("<parameter=")[1:])
    return _call(name.strip(), {key.strip(): value.partition("</parameter>")[0].strip("\r\n") for key, _, value in given})


def _tag(text: str, tools: ToolBook) -> ToolCall | None:
    """`<execute_bash>`, as older versions of OpenHands have it."""
    start, tag = max((text.rfind(tag), tag) for tag in _TAGS)
    if start < 0:
        return None
    code = text[start + len(tag) :].partition(tag.replace("<", "</"))[0].strip()
    return _call(_TAGS[tag], _named(_TAGS[tag], code, tools)) if code else None


def _block(text: str, tools: ToolBook) -> ToolCall | None:
    """The last fenced block; one that a stop sequence cut off has no end."""
    pieces = text.split("```")
    if len(pieces) == 1:
        return None
    language, line_end, code = pieces[-2 if len(pieces) % 2 else -1].partition("\n")
    language, command = language.strip().lower(), code.strip()
    if not line_end or not command or (language and language not in _LANGUAGES):
        return None
    first = command.split(maxsplit=1)[0]
    if not language and first in tools.tools:  # SWE-agent's own commands: open, edit, find_file
        return _call(first, {"command": command})
    tool = _LANGUAGES.get(language, _SHELL)
    return _call(tool, _named(tool, command, tools))


def _line(text: str, tools: ToolBook) -> ToolCall | None:
    """`Action:` with a name, an object, a command or a block, and perhaps a line `Action Input:`."""
    ends = [line.end() for line in _ACTION_LINE.finditer(text)]
    rest = text[ends[-1] :].strip() if ends else ""
    if not rest:
        return None
    if rest.startswith("```") and (call := _block(rest, tools)):
        return call
    if (held := _object(rest.strip("`").removeprefix("json"))) is not None:
        name = next((held[key] for key in _NAMES if isinstance(held.get(key), str)), "")
        given: Any = next((held[key] for key in _INPUTS if key in held), {})
        return _call(name, given if isinstance(given, dict) else _named(name, str(given), tools)) if name else None
    asked = _INPUT_LINE.search(rest)
    line = rest[: asked.start()].strip() if asked else rest.partition("\n")[0].strip()
    if asked:
        given = rest[asked.end() :].strip()
        return _call(line, held if (held := _object(given)) is not None else _named(line, given, tools)) if line else None
    if bracketed := _BRACKETED.fullmatch(line):
        return _call(bracketed[1], _named(bracketed[1], bracketed[2].strip("\"'"), tools))
    return _call(line, {}) if line in tools.tools else _call(_SHELL, {"command": line})


_FINDERS: dict[ActionKind, Callable[[str, ToolBook], ToolCall | None]] = {
    "function": _function,
    "tag": _tag,
    "line": _line,
    "block": _block,
}


def _call(name: str, given: dict[str, Any]) -> ToolCall:
    return ToolCall(None, name, given, at=NOWHERE)


def _named(name: str, given: str, tools: ToolBook) -> dict[str, Any]:
    """An input without a name, under the first that its tool takes."""
    tool = tools.tools.get(name)
    fields = (tool.runs, tool.evaluates, tool.reads, tool.writes, tool.searches, tool.lists, tool.fetches) if tool else ()
    return {next((names.split()[0] for names in fields if names), "input"): given}


def _object(text: str) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        held = payloads.decode_text(text.strip())
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None
