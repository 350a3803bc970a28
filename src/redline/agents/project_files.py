"""Files of the working directory, which may have been cloned a minute ago: where they send requests is shown, not followed."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from redline.agents.agent import BaseUrl, Launch, read_text

__all__ = [
    "REDIRECTS",
    "dotenv_redirects",
    "harmless",
    "project_folders",
    "reached_directly",
    "read_dotenv",
    "redirects_in",
    "shield",
]

REDIRECTS = {
    "ANTHROPIC_BASE_URL": "anthropic",
    "OPENAI_BASE_URL": "openai",
    "GOOGLE_GEMINI_BASE_URL": "gemini",
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
_HERE = ("127.0.0.1", "localhost", "::1")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*[=:]\s*(.*?)\s*")


def project_folders(launch: Launch) -> tuple[Path, ...]:
    """The working directory and those above it, as far as they are not the user's home or above that."""
    home = launch.home.resolve()
    folders = (launch.folder.resolve(), *launch.folder.resolve().parents)
    return tuple(folder for folder in folders if not home.is_relative_to(folder) or folder == folders[0] != home)


def redirects_in(variables: object, path: Path) -> Iterator[BaseUrl]:
    """What a project's file says about where requests go, in variables that it sets for the agent."""
    for name, value in variables.items() if isinstance(variables, Mapping) else ():
        if name in REDIRECTS and isinstance(value, str) and value:
            yield BaseUrl(REDIRECTS[name], value, f"{name} in {path}", is_project=True)


def harmless(variables: object, launch: Launch, proxy: str, own: Mapping[str, object]) -> dict[str, str]:
    """The variables that a project's file redirects requests by, as the user has set them.

    Where the user has not, an address is the proxy's, since some SDKs take no empty one, and everything else is empty.
    """
    names = [name for name in variables if name in REDIRECTS] if isinstance(variables, Mapping) else []
    ends = {"anthropic": proxy, "openai": f"{proxy}/v1", "gemini": proxy, "": ""}
    said = {name: str(own.get(name) or launch.environment.get(name) or ends[REDIRECTS[name]]) for name in names}
    return {name: _with_here(value) if name.upper() == "NO_PROXY" else value for name, value in said.items()}


def dotenv_redirects(launch: Launch) -> Iterator[BaseUrl]:
    """What the `.env` files of the project say, which some agents and most programs read."""
    for path in _dotenv_files(launch):
        yield from redirects_in(read_dotenv(path), path)


def shield(launch: Launch, proxy: str) -> dict[str, str]:
    """Variables for the agent, so that no `.env` file of the project sets them."""
    said: dict[str, str] = {}
    for path in _dotenv_files(launch):
        said |= harmless(read_dotenv(path), launch, proxy, {})
    return said


def reached_directly(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which an agent sends nothing for this machine, where Redline listens, to an HTTP proxy."""
    hosts = _with_here(environment.get("NO_PROXY") or environment.get("no_proxy") or "")
    return {"NO_PROXY": hosts, "no_proxy": hosts}


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables in a `.env` file; none where there is no such file."""
    found: dict[str, str] = {}
    for line in read_text(path).splitlines():
        if assigned := _ASSIGNMENT.fullmatch(line):
            value = assigned[2]
            found[assigned[1]] = value[1:-1] if value[:1] in ("'", '"', "`") and value[-1:] == value[:1] else value
    return found


def _dotenv_files(launch: Launch) -> Iterator[Path]:
    for folder in project_folders(launch):
        yield from (folder / ".gemini" / ".env", folder / ".env")


def _with_here(hosts: str) -> str:
    """Hosts that are reached without a proxy, this machine among them."""
    named = [host.strip() for host in hosts.split(",") if host.strip()]
    return ",".join([*named, *(host for host in _HERE if host not in named)])
