"""A policy as a file: `redline.toml`, or the table `[tool.redline]` of a `pyproject.toml`."""

import dataclasses
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redline.errors import RedlineError, ValidationError
from redline.files import check_path, read_whole
from redline.policy.settings import POLICY_KEYS, SECTIONS, nearest
from redline.rules import known_rules
from redline.rules.protection import Protection
from redline.schedules import Budget, Eager, Rates, WhenFree
from redline.tools import DEFAULT, Tool
from redline.values.words import EN, LANGUAGES, Placeholders

_SCHEDULES: dict[str, Any] = {kind.name: kind for kind in (Eager, WhenFree, Budget)}


def read_policy_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of a policy in a file, as `Policy` takes them. A ValidationError names the file and what is wrong in it."""
    if not isinstance(path, str | os.PathLike):
        raise ValidationError(f"A policy is loaded from the path of a redline.toml, not from {type(path).__name__}.")
    file = check_path("A policy's file", path)
    try:
        table = tomllib.loads(read_whole(file).decode())
    except OSError as problem:
        raise ValidationError(f"{file}: {problem.strerror or problem}. Give the path of a redline.toml.") from problem
    except (ValueError, RecursionError) as problem:  # not TOML, not UTF-8, nested too deep, or a name that no file can have
        raise ValidationError(f"{str(file)!r} is not TOML that can be read: {problem}") from problem
    if file.name == "pyproject.toml":
        tools = table.get("tool")
        own = tools.get("redline") if isinstance(tools, dict) else None
        if not isinstance(own, dict):
            raise ValidationError(f"{file} has no table [tool.redline]. Add one, or give the path of a redline.toml.")
        table = own
    else:
        table = {name: value for name, value in table.items() if name not in SECTIONS}  # what commands are told, not policies
    try:
        return read_policy_table(table, file.parent)
    except ValidationError as problem:
        raise ValidationError(f"{file}: {problem}") from problem


def read_policy_table(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The settings of a policy as a file says them, as `Policy` takes them; relative paths start from the folder."""
    settings: dict[str, Any] = {}
    for name, value in table.items():
        try:
            settings["tool_book" if name == "tools" else name] = _read_setting(name, value, folder)
        except RedlineError as problem:
            raise ValidationError(f"{name}: {problem}") from problem
    return settings


def _read_setting(name: str, value: Any, folder: Path) -> Any:
    match name:
        case "rules":
            if not isinstance(value, list):
                raise ValidationError(f"must be a list of names or tables, not {value!r}")
            return tuple(rule if isinstance(rule, str) else _make_named(rule, known_rules()) for rule in value)
        case "schedule":
            rates = {"rates": _make(Rates, value["rates"], "rates")} if isinstance(value, dict) and "rates" in value else {}
            return value if isinstance(value, str) else _make_named({**_table(value), **rates}, _SCHEDULES)
        case "words":
            changed = {"language": value} if isinstance(value, str) else dict(_table(value))
            language = changed.pop("language", "documents")
            if not isinstance(language, str) or language not in LANGUAGES:
                raise ValidationError(f"there is no language {language!r}. There are: {', '.join(LANGUAGES)}.")
            return _make(Placeholders, {**dataclasses.asdict(LANGUAGES[language]), **changed}, name)
        case "protection":
            return _make(Protection, value, name)
        case "tools":
            return DEFAULT.with_tools({tool: _make(Tool, given, tool) for tool, given in _table(value).items()})
        case "project_root":
            return _path_from(folder, value) if isinstance(value, str) else value
        case "strategy" | "preset" | "error_words" | "error_signs" | "observations" | "compact_at" | "compact":
            return value
    hint = "A file holds no function: teach words with error_words." if name == "is_error" else nearest(name, POLICY_KEYS)
    raise ValidationError(f"there is no setting {name!r}. {hint}")


def _path_from(folder: Path, path: str) -> str:
    try:
        return str((folder / path).resolve())
    except ValueError as problem:
        raise ValidationError(f"{path!r} is a name that no file can have: {problem}") from problem


def _make_named(value: object, kinds: Mapping[str, Any]) -> Any:
    """What a table names, with the other keys as its settings."""
    table = dict(_table(value))
    name = table.pop("name", None)
    if not isinstance(name, str) or name not in kinds:
        raise ValidationError(f"there is no {name!r}. There are: {', '.join(kinds)}. Write {{ name = … }}.")
    return _make(kinds[name], table, name)


def _make(kind: Any, value: object, name: str) -> Any:
    settings, names = _table(value), _names(kind)
    if unknown := sorted(settings.keys() - set(names)):
        raise ValidationError(f"{name} has no setting {unknown[0]!r}. It has: {', '.join(names) or 'none'}.")
    return kind(**settings)


def _names(kind: Any) -> list[str]:
    """The settings of a dataclass or a struct."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if field.init]
    return list(kind.__struct_fields__)


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValidationError(f"must be a table, not {value!r}")
    return value


# --- writing


def policy_toml(settings: Mapping[str, Any]) -> str:
    """The settings of a policy as the text of a `redline.toml`, without those that are as by default."""
    lines = [f"rules = [{', '.join(_unit(rule, known_rules()) for rule in settings['rules'])}]"]
    if settings["schedule"] is not None:
        lines.append(f"schedule = {_unit(settings['schedule'], _SCHEDULES)}")
    if (words := settings["words"]) != EN:
        language = min(LANGUAGES, key=lambda name: len(_changed(words, LANGUAGES[name])))
        lines.append(f"words = {_value({'language': language, **_changed(words, LANGUAGES[language])})}")
    lines += [f"{name} = {_value(settings[name])}" for name in ("strategy", "project_root", "error_words") if settings[name]]
    lines += ['error_signs = "documents"'] if settings["error_signs"] == "documents" else []
    lines += [f"observations = {_value(settings['observations'])}"] if settings["observations"] else []
    lines += [f"compact_at = {_value(settings['compact_at'])}"] if settings["compact_at"] is not None else []
    if settings["compact"] != "outline":
        raise ValidationError("compact is a function of your own, so that no file can hold it. Pass it in Python.")
    if settings["is_error"] is not None:
        raise ValidationError("is_error is a function of your own, so that no file can hold it. Pass it in Python.")
    own = {name: tool for name, tool in settings["tool_book"].tools.items() if DEFAULT.tools.get(name) != tool}
    protection = _changed(settings["protection"], Protection())
    tables = {"protection": protection, **{f"tools.{_value(name)}": _changed(tool, Tool()) for name, tool in own.items()}}
    for name, table in tables.items():
        if table:
            lines += ["", f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _unit(unit: Any, kinds: Mapping[str, Any]) -> str:
    """A rule or a schedule: its name, or a table of what differs from its defaults."""
    if isinstance(unit, str):
        return _value(unit)
    if type(unit) is not kinds.get(unit.name):
        raise ValidationError(f"{unit.name!r} is your own, so that no file can name it. Pass it in Python.")
    changed = {name: value for name, value in _changed(unit, type(unit)()).items() if name != "words"}
    if isinstance(unit, WhenFree) and "rates" in changed:
        changed["rates"] = _changed(unit.rates, Rates())
    return _value({"name": unit.name, **changed})


def _changed(value: Any, default: Any) -> dict[str, Any]:
    found = {name: getattr(value, name) for name in _names(type(value))}
    return {name: one for name, one in found.items() if one != getattr(default, name)}


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case frozenset() | set():
            return _value(sorted(value))
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + " }"
    raise ValidationError(f"{value!r} cannot be written into a file. Pass it in Python.")
