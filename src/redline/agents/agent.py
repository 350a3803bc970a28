"""What Redline must know of an agent to send its requests through a proxy: how it is started, and where it was sent before."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from redline.errors import ValidationError

__all__ = ["Agent", "BaseUrl", "Launch", "Route", "option_values", "read_json", "read_text"]

_MOST_BYTES = 1 << 24
"""No settings file is larger."""
_TEXT = r'("(?:\\.|[^"\\])*")'
_JSON_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])")


@dataclass(frozen=True, slots=True)
class Launch:
    """How and where an agent is started by its user."""

    arguments: tuple[str, ...]
    """All that follows the program's name."""
    environment: Mapping[str, str]
    home: Path
    folder: Path
    """The working directory."""


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """A setting that says where an agent sends its requests."""

    provider: str
    url: str
    where: str
    """The file, variable or flag, in words for the user."""
    is_flag: bool = False
    """On the command line; it wins over Redline's own."""
    is_project: bool = False
    """In a file of the working directory, which may be anybody's: it is shown, and never followed."""


@dataclass(frozen=True, slots=True)
class Route:
    """How an agent is started so that its requests go through a proxy. No file of the user's is changed."""

    arguments: tuple[str, ...]
    """All that follows the program's name."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What its environment holds besides."""
    private_files: Mapping[str, str] = field(default_factory=dict)
    """Variables, and the text of the file that each of them names: written for this run alone, and removed after it."""
    upstreams: Mapping[str, str] = field(default_factory=dict)
    """Where the proxy must send the requests of a provider, if not to the provider's own address."""
    notes: tuple[str, ...] = ()
    """What the user should know before it starts."""
    is_routed: bool = True
    """Otherwise it is started as it is, and the notes say why."""


class Agent(ABC):
    """One program: its name, its routing, and what it loses by it."""

    name: ClassVar[str]
    """As its makers write it."""
    program: ClassVar[str]
    """As it is called on the command line."""
    package: ClassVar[str] = ""
    """Its name at npm."""
    losses: ClassVar[tuple[str, ...]] = ()
    """What does not work, or differs, behind a proxy."""

    @abstractmethod
    def route(self, launch: Launch, proxy: str) -> Route:
        """How it is started instead. `proxy` is the proxy's address and a label, without a version or a slash at its end."""

    @abstractmethod
    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """Every place that says where its requests go, the strongest first."""

    def flagged(self, launch: Launch) -> Route | None:
        """The route where the user's own flags set an address: they win."""
        flag = next((one for one in self.base_urls(launch) if one.is_flag), None)
        if flag is None:
            return None
        note = f"{flag.where} sends {self.name} to {flag.url}, not to Redline."
        return Route(launch.arguments, notes=(note,), is_routed=False)

    def upstreams(self, launch: Launch) -> dict[str, BaseUrl]:
        """Where the user's own settings send it, by provider, not a project's file: there the proxy must send it on."""
        found: dict[str, BaseUrl] = {}
        for one in self.base_urls(launch):
            if not one.is_project:
                found.setdefault(one.provider, one)
        return found

    def not_followed(self, launch: Launch) -> list[str]:
        """What to say of each redirect in a project's file."""
        found = (one for one in self.base_urls(launch) if one.is_project)
        return [f"{one.where} points to {one.url}: a project's file, not followed.{_advice(one)}" for one in found]


def _advice(base: BaseUrl) -> str:
    return f" If it is right: --upstream {base.provider}={base.url}" if base.provider else ""


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
        plain = _LAST_COMMA.sub(r"\1", _JSON_COMMENT.sub(r"\1", text.removeprefix("\ufeff")))
        return json.loads(plain)
    except ValueError as problem:
        raise ValidationError(f"{path} is not JSON ({problem}). Where it sends requests cannot be told; mend it.") from None


def read_text(path: Path) -> str:
    """A settings file as text; empty where there is none. What is no file, or far too large for settings, is not read."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
