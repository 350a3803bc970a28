"""The settings of agents, on the command line and in files, as leniently as the agents themselves read them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from redline.errors import ValidationError

_MOST_BYTES = 1 << 24
"""No settings file is larger."""
_TEXT = r'("(?:\\.|[^"\\])*")'
_JSON_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*[=:]\s*(.*?)\s*")


def option_values(arguments: Sequence[str], *names: str) -> list[str]:
    """The values that an option has on a command line, as `--name value` or `--name=value`, up to a lone `--`."""
    found: list[str] = []
    for place, argument in enumerate(arguments):
        if argument == "--":
            break
        name, equals, value = argument.partition("=")
        if name in names and equals:
            found.append(value)
        elif argument in names and place + 1 < len(arguments):
            found.append(arguments[place + 1])
    return found


def read_json(path: Path) -> object:
    """A settings file; None where there is none. Comments and commas after the last element are passed over, as agents do."""
    if not (text := read_text(path)):
        return None
    try:
        return json.loads(_LAST_COMMA.sub(r"\1", _JSON_COMMENT.sub(r"\1", text.removeprefix("\ufeff"))))
    except ValueError as problem:
        raise ValidationError(f"{path} is not JSON ({problem}). Where it sends requests cannot be told; mend it.") from None


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables in a `.env` file; none where there is no such file."""
    found: dict[str, str] = {}
    for line in read_text(path).splitlines():
        if assigned := _ASSIGNMENT.fullmatch(line):
            value = assigned[2]
            found[assigned[1]] = value[1:-1] if value[:1] in ("'", '"', "`") and value[-1:] == value[:1] else value
    return found


def read_text(path: Path) -> str:
    """A settings file as text; empty where there is none. What is no file, or far too large for settings, is not read."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def table_at(settings: object, *keys: str) -> dict[str, object]:
    """The table at a path of keys in settings; an empty one where there is none."""
    for key in keys:
        settings = settings.get(key) if isinstance(settings, Mapping) else None
    return dict(settings) if isinstance(settings, Mapping) else {}


def text_at(settings: object, *keys: str) -> str:
    """The text at a path of keys in settings; empty where there is none."""
    found = table_at(settings, *keys[:-1]).get(keys[-1])
    return found if isinstance(found, str) else ""
