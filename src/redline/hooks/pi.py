"""pi: an extension that gives each tool's output to Redline, in a file of its own or, for one run, by the flag `-e`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from redline.hooks.opencode import answer, change_output, event_of

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

PROGRAM = "pi"
IS_FOR_RUNS = True


def settings_path(environment: Mapping[str, str], home: Path, project: Path | None) -> Path:
    """A file among the user's extensions."""
    from redline.hooks.installation import no_project

    if project is not None:
        raise no_project("pi")
    return Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent") / "extensions" / "redline.js"


def installed(path: Path, store: str) -> "SettingsChange":
    """The extension for a store."""
    from redline.hooks.installation import with_plugin

    return with_plugin(path, "pi", store)


def uninstalled(path: Path) -> "SettingsChange":
    """Without the extension."""
    from redline.hooks.installation import without_plugin

    return without_plugin(path)


def launched(launch: "Launch", store: str) -> "Launch":
    """With the extension that comes with Redline, named by a flag."""
    from dataclasses import replace

    from redline.hooks.installation import plugin_source, run_variables

    environment = {**launch.environment, **run_variables("pi", store)}
    return replace(launch, arguments=("-e", str(plugin_source("pi")), *launch.arguments), environment=environment)
