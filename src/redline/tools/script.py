"""Codex's `exec`: JavaScript that calls other tools, of which the calls that are spelled out are found."""

import re

import msgspec

from redline import payloads
from redline.messages import ToolCall

__all__ = ["Script", "read_script"]

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_CONSTANT = re.compile(rf"\b(?:const|let|var)\s+(\w+)\s*=\s*({_STRING})\s*(?:;|\n|$)")
_ANY_CALL = re.compile(r"\btools\.\w+\s*\(")
_PLAIN_CALL = re.compile(rf"\btools\.(\w+)\s*\(\s*({{(?:[^{{}}\"'`]|{_STRING})*}}|{_STRING}|\w+)\s*\)")
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
    found = [_call(name, argument, constants) for name, argument in _PLAIN_CALL.findall(code)]
    calls = tuple(call for call in found if call is not None)
    return Script(calls, is_complete=len(calls) == len(_ANY_CALL.findall(code)))


def _call(name: str, argument: str, constants: dict[str, str]) -> ToolCall | None:
    try:
        value = payloads.decode_text(_as_json(argument, constants))
    except (ValueError, RecursionError):
        return None
    return ToolCall(id=None, name=name, input=value)


def _as_json(literal: str, constants: dict[str, str]) -> str:
    """A JavaScript literal as JSON: bare keys quoted, constants put in. What else is in it the parser refuses."""

    def piece(match: re.Match[str]) -> str:
        name, colon = match.groups()
        if name is None or name in _JSON_WORDS:
            return match[0]
        return f'"{name}":' if colon else constants.get(name, name)

    return _PIECE.sub(piece, literal)
