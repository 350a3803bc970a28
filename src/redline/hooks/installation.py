"""Redline's hook in a settings file of Claude Code: what installing it changes, what takes it out again, and the writing."""

import difflib
import json
import shlex
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redline.errors import ExecutionError, ValidationError
from redline.files import check_path, make_directory, read_whole, write_whole
from redline.hooks.answering import DEFAULT_STORE, whole_folder
from redline.hooks.claude_code import MATCHER
from redline.hooks.settings_text import items_at, with_item, without_item

_HOOKS, _ALLOWED = ("hooks", "PostToolUse"), ("permissions", "allow")
_RUN = "-P -m redline hook run"
_SILENT = "2>/dev/null || true"
"""The agent shows nothing, also where Redline is no longer installed."""
_TIMEOUT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A settings file before and after, which is written when `write` is called."""

    path: Path
    before: str | None
    """None: there is no file."""
    after: str | None

    @property
    def is_none(self) -> bool:
        """Whether nothing changes."""
        return self.before == self.after

    def lines(self) -> list[str]:
        """What changes, as `diff -u` shows it."""
        before, after, name = (self.before or "").splitlines(), (self.after or "").splitlines(), str(self.path)
        return [*difflib.unified_diff(before, after, name, name, lineterm="")]

    def write(self) -> None:
        """Write the file, whole or not at all, with the permissions that it had."""
        try:
            if self.after is None:
                self.path.unlink()
                return
            make_directory(self.path.parent)
            mode = stat.S_IMODE(self.path.stat().st_mode) if self.before is not None else None
            write_whole(self.path, self.after.encode())
            if mode is not None:
                self.path.chmod(mode)
        except OSError as problem:
            raise ExecutionError(f"{self.path} cannot be written: {problem.strerror}. Nothing was changed.") from problem


def settings_path(environment: Mapping[str, str], home: Path, project: Path | None) -> Path:
    """The user's settings file, or that of a project which is not shared: the hook names a program of this machine."""
    if project is not None:
        return project / ".claude" / "settings.local.json"
    return Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "settings.json"


def hook_settings(store: str = DEFAULT_STORE) -> tuple[dict[str, Any], str]:
    """The item for `PostToolUse`, and the permission to read whole results without a question.

    The hook starts this very Python, whatever is on the PATH, and imports nothing from the folder that the agent works in.
    """
    if "://" in store:
        raise ValidationError("--store must be a folder for hooks, which keep whole results in files. Give a folder.")
    place = check_path("--store", store).expanduser().absolute()
    is_usual = place == Path(DEFAULT_STORE).expanduser()
    words = [shlex.quote(sys.executable), _RUN, *([] if is_usual else ["--store", shlex.quote(str(place))]), _SILENT]
    hook = {"type": "command", "command": " ".join(words), "timeout": _TIMEOUT_SECONDS}
    return {"matcher": MATCHER, "hooks": [hook]}, f"Read(/{whole_folder(place).as_posix()}/**)"


def installed(path: Path, store: str = DEFAULT_STORE) -> SettingsChange:
    """The settings with the hook for a store. One that is there for another Python or store is replaced."""
    hook, permission = hook_settings(store)
    path, before = _read(path)
    try:
        text = before or ""
        if hook not in items_at(text, _HOOKS) or permission not in items_at(text, _ALLOWED):
            text = with_item(with_item(_without_own(text), _HOOKS, hook), _ALLOWED, permission)
    except (ValidationError, ValueError) as problem:
        raise _refused(path, problem) from problem
    return SettingsChange(path, before, text if before is not None or not text else f"{text}\n")


def uninstalled(path: Path) -> SettingsChange:
    """The settings without the hook. A file in which nothing else was is deleted."""
    path, before = _read(path)
    if before is None:
        return SettingsChange(path, None, None)
    try:
        text = _without_own(before)
    except (ValidationError, ValueError) as problem:
        raise _refused(path, problem) from problem
    return SettingsChange(path, before, None if text == "\n" != before else text)


def _without_own(text: str) -> str:
    """The settings without the hooks of Redline, and the permissions that came with them."""
    for item in items_at(text, _HOOKS):
        match item:
            case {"hooks": [{"command": str(command)}]} if f" {_RUN} " in command and command.endswith(_SILENT):
                words = shlex.split(command)
                store = words[words.index("--store") + 1] if "--store" in words else DEFAULT_STORE
                text = without_item(text, _ALLOWED, hook_settings(store)[1])
                text = without_item(text, _HOOKS, item)
    return text


def _read(path: Path) -> tuple[Path, str | None]:
    """The file that a path leads to, links followed, and its text; refused if it may not be written."""
    try:
        path = path.resolve()
        text = read_whole(path).decode()
        if not path.stat().st_mode & 0o222:
            raise ExecutionError(f"{path} is read-only. Nothing was changed; make it writable (chmod u+w), then try again.")
    except FileNotFoundError:
        return path, None
    except UnicodeDecodeError:
        raise _refused(path, "it is not UTF-8") from None
    except (OSError, RuntimeError) as problem:
        raise ExecutionError(f"{path} cannot be read: {problem}. Nothing was changed.") from problem
    return path, text


def _refused(path: Path, problem: object) -> ValidationError:
    return ValidationError(f"{path} is left as it was: {problem}. Correct the file, then try again.")


def added_to(settings: dict[str, Any], store: str = DEFAULT_STORE) -> dict[str, Any]:
    """The settings of one run with the hook among their own."""
    text = json.dumps(settings)
    hook, permission = hook_settings(store)
    changed: dict[str, Any] = json.loads(with_item(with_item(text, _HOOKS, hook), _ALLOWED, permission))
    return changed
