"""What a tool call does, told from its name and its arguments."""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Any
from urllib.parse import unquote

import msgspec

from redline.tools.book import DEFAULT, ToolBook
from redline.tools.paths import PATH_NAMES, patch_writes, path_entries, paths_of
from redline.tools.shell import command_text, shell_actions
from redline.tools.tool import (
    Action,
    Asks,
    Fetches,
    Lines,
    Lists,
    Notes,
    Reads,
    Resumes,
    Runs,
    Searches,
    SearchesWeb,
    Tool,
    Writes,
)
from redline.values import payloads
from redline.values.messages import ToolCall

Arguments = Mapping[str, Any]

_PLACES = "path paths dir dir_path directory directory_path search_path file file_path filePath"
_NAME_PATTERNS = "pattern glob file_name file_pattern query"
_WORKING_DIRECTORIES = "workdir cwd working_directory workingDirectory dir_path directory"
_LINE_BOUNDS = (
    ("start_line", "end_line"),
    ("startLine", "endLine"),
    ("start_line_one_indexed", "end_line_one_indexed_inclusive"),
)
_LINE_COUNTS = (("offset", "limit"), ("line_offset", "n_lines"))
_LINE_KEYS = frozenset(("view_range", *chain.from_iterable((*_LINE_BOUNDS, *_LINE_COUNTS))))
_LARGEST_PROCESS = 2**64
_PATH_WITH_LINES = re.compile(r"(..+):(\d{1,9})(?:-(\d{1,9}))?")


def describe(call: ToolCall, tools: ToolBook = DEFAULT) -> tuple[Action, ...]:
    """All that a call does for certain; nothing for an unknown tool. A command reads only if it prints nothing but files."""
    arguments = call.arguments
    tool = tools.find(call.name, arguments)
    if tool is None:
        return ()
    actions = _file_actions(tool, arguments)
    if tool.is_terminal:
        actions += _command_actions(tool, arguments, tools)
    if tool.fetches:
        actions += map(Fetches, paths_of(_first(arguments, tool.fetches)))
    if tool.searches_web and (query := _text(arguments, tool.searches_web)):
        actions.append(SearchesWeb(query))
    if tool.asks and (words := _words(arguments, tool.asks)):
        actions.append(Asks(words))
    if tool.asks_user and (words := _words(arguments, tool.asks_user)):
        actions.append(Asks(words, whom="user"))
    if tool.notes:
        actions.append(Notes())
    return tuple(dict.fromkeys(actions) if len(actions) > 1 else actions)


def _file_actions(tool: Tool, arguments: Arguments) -> list[Action]:
    actions: list[Action] = []
    if tool.reads:
        actions += _reads(tool, arguments)
    if tool.writes:
        actions += [Writes(path) for path in paths_of(_path_argument(arguments, tool.writes))]
    if tool.edits:
        actions += [Writes(path, is_edit=True) for path in paths_of(_path_argument(arguments, tool.edits))]
    if tool.patches:
        actions += patch_writes(_text(arguments, tool.patches))
    if tool.lists:
        pattern = _text(arguments, _NAME_PATTERNS) or None
        actions += [Lists(path, pattern) for path in paths_of(_first(arguments, tool.lists)) or (".",)]
    if tool.searches and (sought := _text(arguments, tool.searches)):
        paths = paths_of(_first(arguments, _PLACES))  # some agents write several places into one string
        places = [place for path in paths for place in path.split(";") if place.strip()]
        actions.append(Searches(sought, tuple(places) or (".",)))
    return actions


def _reads(tool: Tool, arguments: Arguments) -> list[Action]:
    shown: list[Action] = []
    asked = _lines(arguments)
    for path, entry in path_entries(_path_argument(arguments, tool.reads)):
        if "*" in path:
            return []  # a pattern: which files were shown is not in the call
        inline = _PATH_WITH_LINES.fullmatch(path) if tool.has_lines_in_path else None
        if path.startswith(("http://", "https://")):
            shown.append(Fetches(path))
        elif path.startswith("file://"):
            shown.append(Reads(unquote(path.removeprefix("file://")), _lines(entry) or asked))
        elif inline:
            shown.append(Reads(inline[1], (int(inline[2]), int(inline[3] or inline[2]))))
        else:
            shown.append(Reads(path, _lines(entry) or asked))
    return shown


def _lines(arguments: Arguments) -> Lines | None:
    if _LINE_KEYS.isdisjoint(arguments):
        return None
    shown = arguments.get("view_range")
    if isinstance(shown, list) and len(shown) == 2:
        return _span(_number(shown[0]), _number(shown[1]))
    for first, last in _LINE_BOUNDS:
        if first in arguments or last in arguments:
            return _span(_number(arguments.get(first)), _number(arguments.get(last)))
    for start, count in _LINE_COUNTS:
        if start in arguments or count in arguments:
            line, lines = max(_number(arguments.get(start)) or 1, 1), _number(arguments.get(count))
            return _span(line, None if lines is None else line + lines - 1)
    return None


def _span(first: int | None, last: int | None) -> Lines | None:
    start, end = max(first or 1, 1), -1 if last is None else last
    if (start, end) == (1, -1):
        return None
    return (start, end) if end == -1 or end >= start else None


def _number(value: object) -> int | None:
    """A line number; agents that write their calls as text give it as digits."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _command_actions(tool: Tool, arguments: Arguments, tools: ToolBook) -> list[Action]:
    actions: list[Action] = []
    if commands := _commands(tool, arguments):
        actions += map(Runs, commands)
        base = _text(arguments, _WORKING_DIRECTORIES) or None
        shown = [shell_actions(command, base) for command in commands]
        if None not in shown:  # the result is that of all commands together
            actions += [action for each in shown for action in each or ()]
    if tool.evaluates and (code := _text(arguments, tool.evaluates)):
        actions.append(Runs(code))
    if tool.scripts and (code := _text(arguments, tool.scripts)):
        actions += _script_actions(code, tools)
    process = _first(arguments, tool.resumes) if tool.resumes else None
    if isinstance(process, str) or (isinstance(process, int) and abs(process) <= _LARGEST_PROCESS):
        actions.append(Resumes(str(process)))
    return actions


def _commands(tool: Tool, arguments: Arguments) -> list[str]:
    if not (tool.runs or tool.runs_each):
        return []
    command, several = _first(arguments, tool.runs), _first(arguments, tool.runs_each)
    if isinstance(command, str) and command and several is None:
        return [command]
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        command = command_text(command)
    listed = several if isinstance(several, list) else [several]
    return [text for text in (command, *listed) if isinstance(text, str) and text]


def _script_actions(code: str, tools: ToolBook) -> list[Action]:
    """What the calls inside a script do. They look at files only if all of them do, as with commands."""
    script = read_script(code)
    described = [describe(call, tools) for call in script.calls]
    actions = [action for each in described for action in each]
    is_command = any(isinstance(action, Runs | Resumes) for action in actions)
    looks = [any(isinstance(action, Reads | Lists | Searches) for action in each) for each in described]
    if not (script.is_complete and all(looks)):
        actions = [action for action in actions if not isinstance(action, Reads | Lists | Searches)]
    return actions if is_command else [*actions, Runs(code)]


# --- the arguments of a call


def _path_argument(arguments: Arguments, names: str) -> object:
    """The first of these arguments that holds a path, else of those that usually do: agents differ in what they call it."""
    for name in chain(_split(names), _split(PATH_NAMES)):
        value = arguments.get(name)
        if value is not None and paths_of(value):
            return value
    return None


def _first(arguments: Arguments, names: str) -> object:
    """The first of these arguments that the call has."""
    for name in _split(names):
        if (value := arguments.get(name)) is not None:
            return value
    return None


_split = lru_cache(maxsize=1024)(str.split)
"""There are as many strings of names as kinds of tools."""


def _text(arguments: Arguments, names: str) -> str:
    value = _first(arguments, names)
    return value if isinstance(value, str) else ""


def _words(arguments: Arguments, names: str) -> str:
    """A question in words; one that is put as a form is given as its JSON."""
    value = _first(arguments, names)
    if value is None or isinstance(value, str):
        return value or ""
    return (payloads.try_encode(value) or b"").decode()


# --- the calls in a script: JavaScript that calls other tools, as Codex's `exec` takes it

_STRING = r'"(?:[^"\\\n]++|\\.)*+"'
_CONSTANT = re.compile(rf"\b(?:const|let|var)\s+(\w+)\s*=\s*({_STRING})\s*(?:;|\n|$)")
_ANY_CALL = re.compile(r"\btools\.\w+\s*\(")
# Strings and comments are passed over whole, up to the end of their line or of the code where they are not closed, so that
# nothing is looked at twice.
_TOKEN = re.compile(
    r"""  "(?:[^"\\\n]++|\\.)*+"?
        | '(?:[^'\\\n]++|\\.)*+'?
        | `(?:[^`\\]++|\\.)*+`?
        | //[^\n]*+
        | /\*(?:[^*]++|\*(?!/))*+
        | \btools\.(?P<tool>\w+)\s*\(\s*""",
    re.VERBOSE | re.DOTALL,
)
_ARGUMENT = re.compile(rf"({{(?:[^{{}}\"'`]++|{_STRING})*+}}|{_STRING}|\w+)\s*\)")
_PIECE = re.compile(rf"{_STRING}|([A-Za-z_$][\w$]*)(\s*:)?")
_JSON_WORDS = frozenset({"true", "false", "null"})


class Script(msgspec.Struct, frozen=True):
    """The calls a script makes."""

    calls: tuple[ToolCall, ...]
    is_complete: bool
    """Every call was spelled out; none has computed arguments."""


def read_script(code: str) -> Script:
    """The calls whose arguments are literals, or constants of the script that are."""
    constants = dict(_CONSTANT.findall(code))
    room = len(code)
    calls: list[ToolCall] = []
    for token in _TOKEN.finditer(code):
        argument = _ARGUMENT.match(code, token.end()) if token["tool"] else None
        literal = _as_json(argument[1], constants, room) if argument else None
        if literal is None or argument is None:
            continue
        room -= max(0, len(literal) - len(argument[1]))
        try:
            calls.append(ToolCall(id=None, name=token["tool"], input=payloads.decode_text(literal)))
        except (ValueError, RecursionError):
            continue
    return Script(tuple(calls), is_complete=len(calls) == len(_ANY_CALL.findall(code)))


def _as_json(literal: str, constants: dict[str, str], room: int) -> str | None:
    """A JavaScript literal as JSON: bare keys quoted, constants put in; None if these take more room than there is."""
    pieces: list[str] = []
    end = 0
    for match in _PIECE.finditer(literal):
        name, colon = match.groups()
        if name is None or name in _JSON_WORDS:
            continue
        constant = constants.get(name, name)
        room -= 0 if colon else len(constant)
        if room < 0:
            return None
        pieces += (literal[end : match.start()], f'"{name}":' if colon else constant)
        end = match.end()
    return "".join((*pieces, literal[end:]))
