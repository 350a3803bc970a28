"""Installed packages: what others add to Redline by entry points, loaded when they are asked for; and the version that runs."""

import sys
import warnings
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["load_plugin", "load_plugins", "package_of", "package_version", "plugin_points"]


@cache
def plugin_points(group: str) -> tuple["EntryPoint", ...]:
    """The entry points of a group (`redline.rules`, `redline.agents`, `redline.backends`, `redline.commands`), by name.

    `importlib.metadata` takes longer than `redline --help` may, so it is imported only where some package names the group.
    """
    if not any(f"[{group}]".encode() in text for text in _entry_point_files()):
        return ()
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=group), key=lambda point: (point.name, package_of(point))))


def package_of(point: "EntryPoint") -> str:
    """The package that an entry point is of."""
    return point.dist.name if point.dist else point.module


def load_plugin(point: "EntryPoint") -> Any:
    """What an entry point names; None, after a warning that names its package, if it cannot be imported."""
    try:
        return point.load()
    except Exception as problem:  # a broken package must not break Redline
        package, why = package_of(point), f"{type(problem).__name__}: {problem}"
        _warn(f"{point.name} of the package {package} cannot be loaded ({why}). Update or uninstall {package}.")
        return None


def load_plugins(group: str, taken: Container[str]) -> dict[str, Any]:
    """What the entry points of a group name. A name that is taken already is refused, with a warning."""
    found: dict[str, Any] = {}
    for point in plugin_points(group):
        if point.name in taken or point.name in found:
            _warn(f"{point.name} of the package {package_of(point)} is not used: {group} has one of this name already.")
        elif (value := load_plugin(point)) is not None:
            found[point.name] = value
    return found


@cache
def package_version() -> str:
    """The version of Redline as it was installed; `from source` where it runs from a path, uninstalled."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("redline-context")
    except PackageNotFoundError:
        return "from source"


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)


def _entry_point_files() -> Iterator[bytes]:
    for folder in dict.fromkeys(sys.path):
        try:
            names = [entry.name for entry in Path(folder).iterdir() if entry.suffix in (".dist-info", ".egg-info")]
        except OSError:  # no folder: an archive, or not there
            continue
        for name in names:
            try:
                yield Path(folder, name, "entry_points.txt").read_bytes()
            except OSError:  # most packages have none
                continue
