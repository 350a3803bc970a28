"""Redline's hook in a settings file of an agent: what installing it changes, what takes it out again, and the writing."""

import difflib
import json
import shlex
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from redline.errors import ExecutionError, ValidationError
from redline.files import check_path, make_directory, read_whole, write_whole
from redline.hooks.answering import DEFAULT_STORE, USUAL_AGENT, whole_folder
from redline.hooks.settings_text import items_at, with_item, without_item

Item = tuple[tuple[str, ...], Any]
"""The keys of a list in a settings file, and what Redline adds to that list."""
ItemsOf = Callable[[str], list[Item]]
"""The items for a store: first the hook, then what comes with it."""

_RUN = "-P -m redline hook run"
_SILENT = "2>/dev/null || true"
"""The agent shows nothing, also where Redline is no longer installed."""
TIMEOUT_SECONDS = 10


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


def shell_command(agent: str, store: str) -> str:
    """What a hook starts: this very Python, whatever is on the PATH, importing nothing from the folder of the agent's work."""
    return " ".join([shlex.quote(sys.executable), _RUN, *map(shlex.quote, _options(agent, store)), _SILENT])


def run_command(agent: str, store: str) -> list[str]:
    """The words of the command that a plugin starts, without a shell."""
    return [sys.executable, *_RUN.split(), *_options(agent, store)]


def whole_results_of(store: str) -> Path:
    """The folder in which hooks keep whole results for a store."""
    return whole_folder(_folder_of(store))


def _options(agent: str, store: str) -> list[str]:
    place = _folder_of(store)
    is_usual = place == Path(DEFAULT_STORE).expanduser()
    return [*([] if agent == USUAL_AGENT else ["--agent", agent]), *([] if is_usual else ["--store", str(place)])]


def _folder_of(store: str) -> Path:
    if "://" in store:
        raise ValidationError("--store must be a folder for hooks, which keep whole results in files. Give a folder.")
    return check_path("--store", store).expanduser().absolute()


def no_project(agent: str) -> ValidationError:
    """The error for an agent whose settings of a project are shared, while the hook names a program of this machine."""
    return ValidationError(f"{agent} has no settings file of a project that is not shared. Leave --project out.")


# --- items among other settings


def with_items(
    path: Path, items_of: ItemsOf, command_in: Callable[[Any], str], store: str, *, fresh: str = ""
) -> SettingsChange:
    """The settings with the hook for a store. One that is there for another Python or store is replaced."""
    items = items_of(store)
    path, before = _read(path)
    text = (before or "") if (before or "").strip() else fresh or before or ""
    try:
        if any(item not in items_at(text, keys) for keys, item in items):
            text = _without_own(text, items_of, command_in)
            for keys, item in items:
                text = with_item(text, keys, item)
    except (ValidationError, ValueError) as problem:
        raise _refused(path, problem) from problem
    return SettingsChange(path, before, text if before is not None or fresh or not text else f"{text}\n")


def without_items(path: Path, items_of: ItemsOf, command_in: Callable[[Any], str], *, fresh: str = "") -> SettingsChange:
    """The settings without the hook. A file in which nothing else was is deleted."""
    path, before = _read(path)
    if before is None:
        return SettingsChange(path, None, None)
    try:
        text = _without_own(before, items_of, command_in)
    except (ValidationError, ValueError) as problem:
        raise _refused(path, problem) from problem
    return SettingsChange(path, before, None if text == (fresh or "\n") != before else text)


def _without_own(text: str, items_of: ItemsOf, command_in: Callable[[Any], str]) -> str:
    """The settings without the hooks of Redline, and what came with them."""
    hooks_at = items_of(DEFAULT_STORE)[0][0]
    for item in items_at(text, hooks_at):
        command = command_in(item)
        if f" {_RUN} " in command and command.endswith(_SILENT):
            words = shlex.split(command)
            store = words[words.index("--store") + 1] if "--store" in words else DEFAULT_STORE
            for keys, other in items_of(store)[1:]:
                text = without_item(text, keys, other)
            text = without_item(text, hooks_at, item)
    return text


def added_items(settings: dict[str, Any], items: Iterable[Item]) -> dict[str, Any]:
    """The settings of one run with items added to their lists."""
    text = json.dumps(settings)
    for keys, item in items:
        text = with_item(text, keys, item)
    changed: dict[str, Any] = json.loads(text)
    return changed


# --- plugins, each a file of its own


def plugin_source(agent: str) -> Path:
    """The plugin for an agent, as it comes with Redline."""
    return Path(__file__).with_name(f"{agent}.js")


def run_variables(agent: str, store: str) -> dict[str, str]:
    """The variables by which Redline's own plugin works for one run."""
    return {"REDLINE_HOOK": json.dumps(run_command(agent, store)), "REDLINE_HOOK_WHOLE": str(whole_results_of(store))}


def with_plugin(path: Path, agent: str, store: str) -> SettingsChange:
    """The plugin for a store, in place of an earlier one of Redline. A file of anybody else is refused."""
    body = plugin_source(agent).read_text(encoding="utf-8")
    command, whole = json.dumps(run_command(agent, store)), json.dumps(str(whole_results_of(store)))
    body = body.replace("const INSTALLED = []", f"const INSTALLED = {command}", 1)
    body = body.replace('const WHOLE = ""', f"const WHOLE = {whole}", 1)
    path, before = _read(path)
    _check_own_plugin(path, before)
    return SettingsChange(path, before, _signed(body))


def without_plugin(path: Path) -> SettingsChange:
    """Without the plugin of Redline; a file of anybody else is refused."""
    path, before = _read(path)
    _check_own_plugin(path, before)
    return SettingsChange(path, before, None)


def _check_own_plugin(path: Path, before: str | None) -> None:
    """An error for a file that Redline did not write, or that somebody has changed since."""
    if before is not None and before != _signed(before.partition("\n")[2]):
        raise ValidationError(
            f"{path} is left as it was: Redline did not write it, or it was changed since. Move it away, then try again."
        )


def _signed(body: str) -> str:
    """The text of a plugin under a line by which Redline knows its own work, of any version."""
    digest = blake2b(body.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"// Written by `redline hook install`, which knows the file by this: {digest}\n{body}"


# --- files


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
