"""Cline: its addresses are in a file, so it is given a copy of that file for the run, and works without its daemon."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from redline.agents.agent import Agent, BaseUrl, Launch, Route, option_values, read_json
from redline.agents.project_files import dotenv_redirects

__all__ = ["ClineAgent"]

_FILE = "CLINE_PROVIDER_SETTINGS_PATH"
_PROVIDERS = {"anthropic": ("anthropic", "/v1"), "openai-native": ("openai", "/v1"), "gemini": ("gemini", "")}
"""By Cline's name: whose API it speaks, and what its address ends with."""
_OTHER_COMMANDS = frozenset(
    ("auth", "config", "connect", "dashboard", "doctor", "h", "history", "hook", "hub", "kanban", "mcp", "plugin", "schedule")
)


class ClineAgent(Agent):
    """The command-line version of Cline."""

    name = "Cline"
    program = "cline"
    package = "cline"
    losses = (
        "Provider settings that are changed during the run are forgotten after it.",
        "It works without its background hub, which would send requests by its own settings.",
        "Only anthropic, openai-native and gemini are routed, and only with a key.",
    )

    def route(self, launch: Launch, proxy: str) -> Route:
        """A copy of its providers with the proxy as address. A running hub would ignore it, so sessions run in the program."""
        if _OTHER_COMMANDS.intersection(launch.arguments[:1]):  # they change the user's settings, which a copy would lose
            note = f"cline {launch.arguments[0]} asks no model, and is started as it is."
            return Route(launch.arguments, notes=(note,), is_routed=False)
        path = _path(launch)
        settings = read_json(path)
        chosen = _chosen(launch, settings)
        held = _settings_of(settings, chosen)
        if chosen not in _PROVIDERS or not held.get("apiKey"):
            note = (
                f"Cline uses {chosen or 'no provider'}: its requests do not pass Redline. "
                f"{', '.join(_PROVIDERS)} with a key do (cline auth -p PROVIDER -k KEY -m MODEL)."
            )
            return Route(launch.arguments, notes=(note,), is_routed=False)
        copy = json.loads(json.dumps(settings))
        for name, (_, version) in _PROVIDERS.items():
            if entry := copy["providers"].get(name):
                entry["settings"] = {**entry.get("settings", {}), "baseUrl": proxy + version}
        return Route(launch.arguments, {"CLINE_SESSION_BACKEND_MODE": "local"}, {_FILE: json.dumps(copy)})

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The project's `.env` files, which are not followed, and what the user's file says."""
        yield from dotenv_redirects(launch)
        path = _path(launch)
        settings = read_json(path)
        for name, (provider, _) in _PROVIDERS.items():
            url = _settings_of(settings, name).get("baseUrl")
            if isinstance(url, str) and url:
                yield BaseUrl(provider, url, f"baseUrl of {name} in {path}")


def _path(launch: Launch) -> Path:
    """Where the providers are, as Cline looks for them."""
    if path := launch.environment.get(_FILE):
        return Path(path)
    folder = option_values(launch.arguments, "--data-dir")
    root = option_values(launch.arguments, "--config")
    below = Path(root[-1] if root else launch.environment.get("CLINE_DIR") or launch.home / ".cline") / "data"
    data = Path(folder[-1]) if folder else Path(launch.environment.get("CLINE_DATA_DIR") or below)
    return launch.folder / data / "settings" / "providers.json"


def _chosen(launch: Launch, settings: object) -> str:
    flag = option_values(launch.arguments, "-P", "--provider")
    if flag:
        return flag[-1]
    last = settings.get("lastUsedProvider") if isinstance(settings, Mapping) else None
    return last if isinstance(last, str) else ""


def _settings_of(settings: object, provider: str) -> Mapping[str, object]:
    found = settings
    for key in ("providers", provider, "settings"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
