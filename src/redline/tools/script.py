"""Codex's `exec`: JavaScript that calls other tools, of which the calls that are spelled out are found."""

import re

import msgspec

from redline.values import payloads
from redline.values.messages import ToolCall

__all__ = ["Script", "read_script"]

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
    """A JavaScript literal as JSON: bare keys quoted, constants put in. What else is in it the parser refuses.

    None if the constants take more room than there is: a long one that is used a thousand times would fill the memory.
    """
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
