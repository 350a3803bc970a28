"""How an agent is started so that its requests pass a proxy, and where its own and the project's settings send them."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

from redline.agents.launching.settings_files import option_values as option_values
from redline.agents.launching.settings_files import read_dotenv as read_dotenv
from redline.agents.launching.settings_files import read_json as read_json
from redline.agents.launching.settings_files import read_text as read_text
from redline.agents.launching.settings_files import table_at as table_at
from redline.agents.launching.settings_files import text_at as text_at
from redline.errors import ValidationError
from redline.providers.apis import PROVIDERS, Provider


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

    @classmethod
    def unrouted(cls, launch: Launch, why: str) -> "Route":
        """The agent is started as its user would start it."""
        return cls(launch.arguments, notes=(why,), is_routed=False)

    def shell_line(self, program: str, *, private: str) -> str:
        """The start as a line for a shell; `private` stands for the name of each private file."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        variables += [f"{name}={private}" for name in self.private_files]
        return " ".join([*variables, shlex.join([program, *self.arguments])])


class Agent(ABC):
    """An agent's program: its name, its routing through the proxy, and the features lost behind a proxy."""

    name: ClassVar[str]
    """As its makers write it."""
    program: ClassVar[str]
    """As it is called on the command line."""
    package: ClassVar[str] = ""
    """Its name at npm."""
    losses: ClassVar[tuple[str, ...]] = ()
    """What does not work, or differs, behind a proxy."""
    key_variables: ClassVar[tuple[str, ...]] = ()
    """Variables with which the agent does not use its login with a subscription."""

    @abstractmethod
    def route(self, launch: Launch, proxy: str) -> Route:
        """How it is started instead. `proxy` is the proxy's address and a label, without a version or a slash at its end."""

    @abstractmethod
    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """Every place that says where its requests go, the strongest first."""

    def has_login(self, launch: Launch) -> bool:  # noqa: ARG002
        """Whether the agent is logged in with a subscription, as far as its files tell."""
        return False

    def subscription_note(self, launch: Launch) -> str:
        """The note for an agent that a subscription pays for; empty if a key pays, or nobody can tell."""
        try:
            if any(launch.environment.get(name) for name in self.key_variables) or not self.has_login(launch):
                return ""
        except ValidationError:  # a file of the agent's that is not JSON
            return ""
        return (
            f"{self.name} is logged in with a subscription: its requests are only observed, and nothing is struck. "
            "--edit-subscriptions edits them, too."
        )

    def flagged(self, launch: Launch) -> Route | None:
        """The route where the user's own flags set an address: they win."""
        flag = next((one for one in self.base_urls(launch) if one.is_flag), None)
        return Route.unrouted(launch, f"{flag.where} sends {self.name} to {flag.url}, not to Redline.") if flag else None

    def upstreams(self, launch: Launch) -> dict[str, BaseUrl]:
        """Where the user's own settings send it, by provider, not a project's file: there the proxy must send it on."""
        found: dict[str, BaseUrl] = {}
        for one in self.base_urls(launch):
            if not one.is_project:
                found.setdefault(one.provider, one)
        return found

    def not_followed(self, launch: Launch) -> list[str]:
        """A sentence for each redirect in a project's file."""
        return [
            f"{one.where} points to {one.url}: a project's file, not followed."
            + (f" If it is right: --upstream {one.provider}={one.url}" if one.provider else "")
            for one in self.base_urls(launch)
            if one.is_project
        ]


class RoutedProvider(NamedTuple):
    """A provider whose requests an agent can send through the proxy, as the agent's settings have it."""

    name: str
    api: Provider
    """The provider whose API is spoken."""
    base_url_end: str
    """The end of its address in the agent's settings."""
    key_variables: tuple[str, ...] = ()


class SdkProgram(Agent):
    """Any other program of the user's, which asks a model by an SDK and names no address itself."""

    name = "a program"
    program = ""
    losses = ("What sets its base URL in code is not routed.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """The variable of each provider's SDK."""
        return Route(launch.arguments, {one.base_url_variable: proxy + one.base_url_end for one in PROVIDERS.values()})

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The variables as they are. The project's `.env` files, which the program may read, are not followed."""
        yield from dotenv_redirects(launch)
        for provider in PROVIDERS.values():
            if url := launch.environment.get(provider.base_url_variable):
                yield BaseUrl(provider.name, url, f"the variable {provider.base_url_variable}")


_REDIRECTS = {
    **{one.base_url_variable: one.name for one in PROVIDERS.values()},
    "ANTHROPIC_BEDROCK_BASE_URL": "",
    "ANTHROPIC_FOUNDRY_BASE_URL": "",
    "ANTHROPIC_UNIX_SOCKET": "",
    "ANTHROPIC_VERTEX_BASE_URL": "",
    "CLAUDE_CODE_USE_BEDROCK": "",
    "CLAUDE_CODE_USE_FOUNDRY": "",
    "CLAUDE_CODE_USE_VERTEX": "",
    "CODE_ASSIST_ENDPOINT": "",
    "GOOGLE_GENAI_USE_GCA": "",
    "GOOGLE_GENAI_USE_VERTEXAI": "",
    "GOOGLE_VERTEX_BASE_URL": "",
    "OPENCODE_CONFIG": "",
    "OPENCODE_CONFIG_CONTENT": "",
    **{spelled: "" for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for spelled in (name, name.lower())},
}
"""Variables that send an agent's requests elsewhere, and whose address they hold, if one provider's.

An HTTP proxy is among them: what an agent sends to Redline is not encrypted, and would pass that proxy with the key.
"""
_DOTENV_FILES = (".gemini/.env", ".env")
_HERE = ("127.0.0.1", "localhost", "::1")


def project_files(launch: Launch, names: Iterable[str], own: Path | None = None) -> Iterator[Path]:
    """The places of the project's files with these names: in the working directory, and in folders above it.

    The user's home, folders above that, and the agent's own folder are not the project's.
    """
    home = launch.home.resolve()
    folders = (launch.folder.resolve(), *launch.folder.resolve().parents)
    for folder in folders:
        if not home.is_relative_to(folder) or folder == folders[0] != home:
            paths = (folder / name for name in names)
            yield from (path for path in paths if own is None or path.parent.resolve() != own.resolve())


def redirects_in(variables: Mapping[str, object], path: Path) -> Iterator[BaseUrl]:
    """What a project's file says about where requests go, in variables that it sets for the agent."""
    for name, value in variables.items():
        if name in _REDIRECTS and isinstance(value, str) and value:
            yield BaseUrl(_REDIRECTS[name], value, f"{name} in {path}", is_project=True)


def harmless(variables: Mapping[str, object], launch: Launch, proxy: str, own: Mapping[str, object]) -> dict[str, str]:
    """The variables that a project's file redirects requests by, as the user has set them.

    Where the user has not, an address is the proxy's, since some SDKs take no empty one, and everything else is empty.
    """
    ends = {one.name: proxy + one.base_url_end for one in PROVIDERS.values()} | {"": ""}
    names = [name for name in variables if name in _REDIRECTS]
    said = {name: str(own.get(name) or launch.environment.get(name) or ends[_REDIRECTS[name]]) for name in names}
    return {name: _with_here(value) if name.upper() == "NO_PROXY" else value for name, value in said.items()}


def dotenv_redirects(launch: Launch) -> Iterator[BaseUrl]:
    """What the `.env` files of the project say, which some agents and most programs read."""
    for path in project_files(launch, _DOTENV_FILES):
        yield from redirects_in(read_dotenv(path), path)


def shield(launch: Launch, proxy: str) -> dict[str, str]:
    """Variables for the agent, so that no `.env` file of the project sets them."""
    said: dict[str, str] = {}
    for path in project_files(launch, _DOTENV_FILES):
        said |= harmless(read_dotenv(path), launch, proxy, {})
    return said


def reached_directly(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which an agent sends nothing for this machine, where Redline listens, to an HTTP proxy."""
    hosts = _with_here(environment.get("NO_PROXY") or environment.get("no_proxy") or "")
    return {"NO_PROXY": hosts, "no_proxy": hosts}


def _with_here(hosts: str) -> str:
    """Hosts that are reached without a proxy, this machine among them."""
    named = [host.strip() for host in hosts.split(",") if host.strip()]
    return ",".join([*named, *(host for host in _HERE if host not in named)])
