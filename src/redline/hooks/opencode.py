"""opencode: a plugin that gives each tool's output to Redline, in a file of its own or, for one run, in a variable."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redline.hooks.claude_code import change_blocks, event_of

if TYPE_CHECKING:
    from redline.agents.launching import Launch
    from redline.hooks.installation import SettingsChange

__all__ = [
    "IS_FOR_RUNS",
    "PROGRAM",
    "answer",
    "change_output",
    "event_of",
    "installed",
    "launched",
    "settings_path",
    "uninstalled",
]

PROGRAM = "opencode"
IS_FOR_RUNS = True


def change_output(tool: str, output: Any, change: Callable[[str], str | None]) -> Any:  # noqa: ARG001
    """The output with its words changed; None where nothing changes. The plugin asks about no reads and edits."""
    return change_blocks(output, change) if isinstance(output, list) else change(output) if isinstance(output, str) else None


def answer(output: Any) -> dict[str, Any]:
    """What the plugin takes."""
    return {"output": output}


# --- its settings


def settings_path(environment: Mapping[str, str], home: Path, project: Path | None) -> Path:
    """A file among the user's plugins."""
    from redline.hooks.installation import no_project

    if project is not None:
        raise no_project("opencode")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode" / "plugin" / "redline.js"


def installed(path: Path, store: str) -> "SettingsChange":
    """The plugin for a store."""
    from redline.hooks.installation import with_plugin

    return with_plugin(path, "opencode", store)


def uninstalled(path: Path) -> "SettingsChange":
    """Without the plugin."""
    from redline.hooks.installation import without_plugin

    return without_plugin(path)


def launched(launch: "Launch", store: str) -> "Launch":
    """With the plugin in the variable for settings, beside what the user has there."""
    import json
    from dataclasses import replace

    from redline.agents.opencode.launch import SETTINGS_VARIABLE, settings_in
    from redline.hooks.installation import plugin_source, run_variables

    settings = settings_in(launch)
    listed = settings.get("plugin")
    plugins = [*(listed if isinstance(listed, list) else []), plugin_source("opencode").as_uri()]
    added = {SETTINGS_VARIABLE: json.dumps({**settings, "plugin": plugins}), **run_variables("opencode", store)}
    return replace(launch, environment={**launch.environment, **added})
