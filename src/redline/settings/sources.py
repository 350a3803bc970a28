"""Where the value of a setting comes from: a variable, the nearest file, the user's own file, or its default."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from redline.errors import ValidationError
from redline.settings.checked_values import parse_setting
from redline.settings.declared import Setting, SettingData
from redline.settings.setting_files import SettingFile, project_file, user_file

__all__ = ["SettingSources", "SettingValue"]

_CONFIG = "REDLINE_CONFIG"
_OFF = "off"


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of a setting, and where it is said."""

    value: SettingData
    origin: Literal["variable", "config", "project", "user", "default"]
    where: str
    """For people: the variable, or the file and the key."""


@dataclass(frozen=True, slots=True)
class SettingSources:
    """All that is said outside of the command line, the strongest file first. A flag goes before all of it."""

    environ: Mapping[str, str]
    files: tuple[SettingFile, ...] = ()

    @classmethod
    def load(
        cls,
        config: str | None = None,
        *,
        folder: Path | None = None,
        home: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> "SettingSources":
        """Read the files: the one that is named, else the project's; then the user's own.

        Of this process, unless another folder, home or environment is given. A ValidationError names the file and the key.
        """
        variables = os.environ if environ is None else environ
        config = config or variables.get(_CONFIG) or ""
        if config.lower() == _OFF:
            return cls(variables)
        with contextlib.suppress(RuntimeError):  # a user without a home
            home = home or Path.home()
        own = user_file(home, variables)
        return cls(variables, tuple(_files(config, own, folder)))

    def find(self, setting: Setting) -> SettingValue:
        """The value that counts, checked."""
        if text := self.environ.get(setting.variable):
            try:
                return SettingValue(parse_setting(setting, text), "variable", setting.variable)
            except ValidationError as problem:
                raise ValidationError(f"{setting.variable}: {problem}") from problem
        for file in self.files:
            if setting.full_name in file.values:
                return SettingValue(file.values[setting.full_name], file.origin, f"{file.path} {setting.key}")
        return SettingValue(setting.default, "default", "default")

    def warnings(self) -> Iterator[str]:
        """What a project's file says in vain, one sentence a file."""
        for file in self.files:
            if file.refused:
                refused = ", ".join(map(_told, file.refused))
                yield (
                    f"{file.path} is the project's and could be anybody's. Not taken from it: {refused}. "
                    "Use a flag, a variable or your own file, or name this one with --config."
                )


def _told(setting: Setting) -> str:
    """A setting that a project's file may not set, or only in some ways."""
    only = {"switch": " (only true is)", "policy": " (only a name is)", "address": " (only a folder inside the project is)"}
    return setting.key + (only.get(setting.kind, "") if setting.from_project else "")


def _files(config: str, own: Path | None, folder: Path | None) -> Iterator[SettingFile]:
    if config:
        yield SettingFile.read(Path(config).expanduser(), "config")
    else:
        with contextlib.suppress(FileNotFoundError):  # a working directory that was deleted
            found = project_file(folder or Path.cwd())
            if found and not (own and own.exists() and found.samefile(own)):
                yield SettingFile.read(found, "project")
    if own and own.exists():
        yield SettingFile.read(own, "user")
