"""A policy as a file: `redline.toml`, or the table `[tool.redline]` of a `pyproject.toml`."""

import dataclasses
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from redline.errors import RedlineError, ValidationError
from redline.rules import RULES
from redline.rules.protection import Protection
from redline.schedules import Budget, Eager, Rates, WhenFree
from redline.tools import DEFAULT, Tool, ToolBook
from redline.values.words import DOCUMENTS, EN, Words

__all__ = ["policy_toml", "read_policy_file"]

_SCHEDULES: dict[str, Any] = {kind.name: kind for kind in (Eager, WhenFree, Budget)}
_LANGUAGES = {"documents": DOCUMENTS, "en": EN}


def read_policy_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of a policy in a file, as `Policy` takes them. A ValidationError names the file and what is wrong in it."""
    file = Path(path)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ValidationError(f"{file}: {problem.strerror or problem}. Give the path of a redline.toml.") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValidationError(f"{file} is not TOML: {problem}") from problem
    if file.name == "pyproject.toml":
        table = table.get("tool", {}).get("redline")
        if table is None:
            raise ValidationError(f"{file} has no table [tool.redline]. Add one, or give the path of a redline.toml.")
    readers: dict[str, Callable[[Any], Any]] = {
        "rules": _read_rules,
        "schedule": _read_schedule,
        "words": _read_words,
        "protection": lambda value: _make(Protection, _lists_as_tuples(_table(value)), "protection"),
        "tools": _read_tools,
        "strategy": lambda value: value,
        "project_root": lambda value: str((file.parent / value).resolve()) if isinstance(value, str) else value,
    }
    if unknown := sorted(table.keys() - readers.keys()):
        raise ValidationError(f"{file}: there is no setting {unknown[0]!r}. There are: {', '.join(readers)}.")
    settings = {}
    for name, value in table.items():
        try:
            settings["tool_book" if name == "tools" else name] = readers[name](value)
        except RedlineError as problem:
            raise ValidationError(f"{file}: {name}: {problem}") from problem
    return settings


def _read_rules(value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValidationError(f"must be a list of names or tables, not {value!r}")
    return tuple(rule if isinstance(rule, str) else _named(rule, RULES) for rule in value)


def _read_schedule(value: object) -> object:
    if isinstance(value, str):
        return value
    table = dict(_table(value))
    if "rates" in table:
        table["rates"] = _make(Rates, _table(table["rates"]), "rates")
    return _named(table, _SCHEDULES)


def _read_words(value: object) -> Words:
    table = {"language": value} if isinstance(value, str) else dict(_table(value))
    language = table.pop("language", "documents")
    if language not in _LANGUAGES:
        raise ValidationError(f"there is no language {language!r}. There are: {', '.join(_LANGUAGES)}.")
    known = {field.name: getattr(_LANGUAGES[language], field.name) for field in dataclasses.fields(Words)}
    words: Words = _make(Words, {**known, **table}, "words")
    return words


def _read_tools(value: object) -> ToolBook:
    return DEFAULT.with_tools({name: _make(Tool, _table(tool), name) for name, tool in _table(value).items()})


def _named(value: object, kinds: Mapping[str, Any]) -> Any:
    """What a table names, with the other keys as its settings."""
    table = dict(_table(value))
    name = table.pop("name", None)
    if name not in kinds:
        raise ValidationError(f"there is no {name!r}. There are: {', '.join(kinds)}. Write {{ name = … }}.")
    return _make(kinds[name], table, str(name))


def _make(kind: Any, settings: Mapping[str, Any], name: str) -> Any:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    names = [field.name for field in fields if field.init] or list(getattr(kind, "__struct_fields__", ()))
    if unknown := sorted(settings.keys() - set(names)):
        raise ValidationError(f"{name} has no setting {unknown[0]!r}. It has: {', '.join(names) or 'none'}.")
    try:
        return kind(**settings)
    except TypeError as problem:
        raise ValidationError(f"{name}: {problem}") from problem


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValidationError(f"must be a table, not {value!r}")
    return value


def _lists_as_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a protection: names as a set, globs in order."""
    kinds: dict[str, type] = {"tools": frozenset, "paths": tuple}
    wrong = [key for key in kinds if key in table and not _is_texts(table[key])]
    if wrong:
        raise ValidationError(f"{wrong[0]} must be a list of texts, not {table[wrong[0]]!r}")
    return {key: kinds.get(key, lambda same: same)(value) for key, value in table.items()}


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# --- writing


def policy_toml(settings: Mapping[str, Any]) -> str:
    """The settings of a policy as the text of a `redline.toml`, without those that are as by default."""
    lines = [f"rules = [{', '.join(_rule_text(rule) for rule in settings['rules'])}]"]
    if settings["schedule"] is not None:
        lines.append(f"schedule = {_schedule_text(settings['schedule'])}")
    if settings["words"] != DOCUMENTS:
        lines.append(f"words = {_words_text(settings['words'])}")
    lines += [f"{name} = {_value(settings[name])}" for name in ("strategy", "project_root") if settings[name]]
    own = {name: tool for name, tool in settings["tool_book"].tools.items() if DEFAULT.tools.get(name) != tool}
    protection = _changed(settings["protection"], Protection())
    tables = {"protection": protection, **{f"tools.{_value(name)}": _changed(tool, Tool()) for name, tool in own.items()}}
    for name, table in tables.items():
        if table:
            lines += ["", f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _rule_text(rule: Any) -> str:
    if isinstance(rule, str):
        return _value(rule)
    if type(rule) is not RULES.get(rule.name):
        raise ValidationError(f"The rule {rule.name!r} is your own, so that no file can name it. Pass it in Python.")
    return _inline({"name": rule.name, **_changed(rule, type(rule)(), skip=("words",))})


def _schedule_text(schedule: Any) -> str:
    if isinstance(schedule, str):
        return _value(schedule)
    if type(schedule) is not _SCHEDULES.get(schedule.name):
        raise ValidationError(f"The schedule {schedule.name!r} is your own, so that no file can name it. Pass it in Python.")
    changed = _changed(schedule, type(schedule)(), skip=("rates",))
    if isinstance(schedule, WhenFree) and schedule.rates != Rates():
        changed["rates"] = _changed(schedule.rates, Rates())
    return _inline({"name": schedule.name, **changed})  # a table also without settings: by its name it would take the model's


def _words_text(words: Words) -> str:
    language = max(_LANGUAGES, key=lambda name: len(_same_words(words, _LANGUAGES[name])))
    changed = _changed(words, _LANGUAGES[language])
    return _inline({"language": language, **changed}) if changed else _value(language)


def _same_words(words: Words, others: Words) -> list[str]:
    return [field.name for field in dataclasses.fields(Words) if getattr(words, field.name) == getattr(others, field.name)]


def _changed(value: Any, default: Any, *, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    names = getattr(value, "__struct_fields__", None) or [field.name for field in dataclasses.fields(value) if field.init]
    found = {name: getattr(value, name) for name in names if name not in skip}
    return {name: one for name, one in found.items() if one != getattr(default, name)}


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in table.items()) + " }"


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
            return _inline(value)
    raise ValidationError(f"{value!r} cannot be written into a file. Pass it in Python.")
