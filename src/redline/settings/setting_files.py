"""A `redline.toml` as a source of settings: found, read, and checked; a project's file may not say everything."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from redline.errors import ValidationError
from redline.settings.checked_values import check_setting
from redline.settings.declared import SECTIONS, SETTINGS, Setting, SettingData

__all__ = ["FILE_NAME", "POLICY_KEYS", "SettingFile", "nearest", "project_file", "user_file"]

FILE_NAME = "redline.toml"
POLICY_KEYS = (
    *("preset", "rules", "schedule", "words", "strategy", "project_root", "protection", "tools"),
    *("error_words", "error_signs"),
)
"""What is said at the top of a file: the policy, which `Policy.load` reads."""

_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SettingFile:
    """What one file says."""

    path: Path
    origin: Literal["config", "project", "user"]
    """Named by the user, found in the project, or the user's own."""
    values: Mapping[str, SettingData]
    """By the setting's full name."""
    refused: tuple[Setting, ...] = ()
    """What is in a project's file and may not be, or not so."""

    @classmethod
    def read(cls, path: Path, origin: Literal["config", "project", "user"]) -> "SettingFile":
        """Read and check a file; a ValidationError names the file and the key."""
        values: dict[str, SettingData] = {}
        refused = []
        try:
            table = _read_table(path)
            for setting, given in _said(table):
                value = _placed(setting, _checked(setting, given), path.parent)
                if origin != "project" or _may_be_from_project(setting, value, path.parent):
                    values[setting.full_name] = value
                else:
                    refused.append(setting)
        except ValidationError as problem:
            raise ValidationError(f"{path}: {problem}") from problem
        if origin != "project" and "proxy.policy" not in values and any(key in table for key in POLICY_KEYS):
            values["proxy.policy"] = str(path)
        return cls(path, origin, values, tuple(refused))


def project_file(folder: Path) -> Path | None:
    """The nearest file from a folder up to the root of its git repository; outside of one, only in the folder itself."""
    folders = (folder, *folder.parents)
    root = next((number for number, one in enumerate(folders) if os.path.lexists(one / ".git")), 0)
    return next((one / FILE_NAME for one in folders[: root + 1] if os.path.lexists(one / FILE_NAME)), None)


def user_file(home: Path | None, environ: Mapping[str, str]) -> Path | None:
    """`$XDG_CONFIG_HOME/redline/redline.toml`, else `~/.config/redline/redline.toml`, be it there or not."""
    chosen = Path(environ.get("XDG_CONFIG_HOME", ""))
    if chosen.is_absolute():
        return chosen / "redline" / FILE_NAME
    return home / ".config" / "redline" / FILE_NAME if home else None


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """What was probably meant, and what there is."""
    meant = get_close_matches(name, list(known), n=1)
    return (f"Did you mean {meant[0]!r}? " if meant else "") + f"There are: {', '.join(known)}."


def _read_table(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            raise ValidationError("it is no file, or not there. Give the path of a redline.toml.")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValidationError("it is larger than 1 MB, which no redline.toml is.")
        return tomllib.loads(content.decode())
    except OSError as problem:
        raise ValidationError(f"{problem.strerror or problem}. Check the path and its permissions.") from problem
    except RecursionError:
        raise ValidationError("it is nested too deeply to be read.") from None
    except ValueError as problem:  # not TOML, not UTF-8, or a name that no file can have
        raise ValidationError(f"it is not TOML that can be read: {problem}") from problem


def _said(table: Mapping[str, Any]) -> Iterator[tuple[Setting, object]]:
    """The settings in a file; an unknown key is an error."""
    for section, keys in table.items():
        if section in POLICY_KEYS:
            continue
        if section not in SECTIONS:
            raise ValidationError(f"there is no {section!r}. {nearest(section, (*SECTIONS, *POLICY_KEYS))}")
        if not isinstance(keys, dict):
            raise ValidationError(f"{section} must be a table: write [{section}] and its keys below")
        names = tuple(setting.name for setting in SETTINGS.values() if setting.section == section)
        for name, value in keys.items():
            if name not in names:
                raise ValidationError(f"[{section}] has no {name!r}. {nearest(name, names)}")
            yield SETTINGS[f"{section}.{name}"], value


def _checked(setting: Setting, value: object) -> SettingData:
    try:
        return check_setting(setting, value)
    except ValidationError as problem:
        raise ValidationError(f"{setting.key} {problem}") from problem


def _placed(setting: Setting, value: SettingData, folder: Path) -> SettingData:
    """A path that starts from the file's folder, as whoever wrote the file meant it."""
    is_path = (
        isinstance(value, str)
        and bool(value)
        and ((setting.kind == "address" and "://" not in value) or (setting.kind == "policy" and not value.isidentifier()))
    )
    if not is_path:
        return value
    try:
        return str(folder.absolute() / Path(str(value)).expanduser())
    except RuntimeError as problem:
        raise ValidationError(f"{setting.key}: {problem}") from problem


def _may_be_from_project(setting: Setting, value: SettingData, folder: Path) -> bool:
    """Whether this may be set by whoever wrote the project's file: see `Setting.from_project`."""
    if not setting.from_project:
        return False
    match setting.kind:
        case "switch":
            return value is True
        case "policy":
            return str(value).isidentifier()
        case "address":
            return "://" not in str(value) and Path(str(value)).resolve().is_relative_to(folder.resolve())
    return True
