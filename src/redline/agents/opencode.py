"""opencode: a variable holds settings that are laid over those of its files."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from redline.agents.agent import Agent, BaseUrl, Launch, Route, read_json
from redline.errors import ValidationError

__all__ = ["OpenCodeAgent"]

_SETTINGS = "OPENCODE_CONFIG_CONTENT"
_PROVIDERS = {
    "anthropic": ("anthropic", "/v1", ("ANTHROPIC_API_KEY",)),
    "openai": ("openai", "/v1", ("OPENAI_API_KEY",)),
    "google": ("gemini", "/v1beta", ("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
"""By opencode's name: whose API it speaks, what its address ends with, and the variables that hold its key."""


class OpenCodeAgent(Agent):
    """The agent of sst, with the three providers whose APIs Redline reads."""

    name = "opencode"
    program = "opencode"
    package = "opencode-ai"
    losses = ("Only anthropic, openai and google are routed, and only with a key of theirs.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """The address of each provider that the user has a key for; others would appear in its list of models."""
        settings = _content(launch)
        providers = _table(settings, "provider")
        used = [name for name in _PROVIDERS if _has_key(name, launch) or name in providers]
        for name in used:
            options = {**_table(_table(providers, name), "options"), "baseURL": proxy + _PROVIDERS[name][1]}
            providers[name] = {**_table(providers, name), "options": options}
        if not used:
            note = "opencode has no key of anthropic, openai or google: its requests do not pass Redline."
            return Route(launch.arguments, notes=(note,), is_routed=False)
        return Route(launch.arguments, {_SETTINGS: json.dumps({**settings, "provider": providers})})

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The variable with settings, the project's files, the user's, and the variables of the SDKs."""
        folder = Path(launch.environment.get("XDG_CONFIG_HOME") or launch.home / ".config") / "opencode"
        named = [Path(path)] if (path := launch.environment.get("OPENCODE_CONFIG")) else []
        files = [place / f"opencode{end}" for place in (launch.folder, folder) for end in (".jsonc", ".json")]
        settings: list[tuple[str, object]] = [(_SETTINGS, _content(launch))]
        settings += [(str(path), read_json(path)) for path in (*files[:2], *named, *files[2:])]
        for where, held in settings:
            for name, (provider, _, _) in _PROVIDERS.items():
                url = _table(_table(_table(held, "provider"), name), "options").get("baseURL")
                if isinstance(url, str) and url:
                    yield BaseUrl(provider, url, f"baseURL of {name} in {where}")
        for provider, variable in (("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")):
            if url := launch.environment.get(variable):
                yield BaseUrl(provider, url, f"the variable {variable}")


def _content(launch: Launch) -> dict[str, object]:
    try:
        settings = json.loads(launch.environment.get(_SETTINGS) or "{}")
    except ValueError as problem:
        raise ValidationError(f"{_SETTINGS} is not JSON ({problem}). Mend it, or unset it.") from None
    return settings if isinstance(settings, dict) else {}


def _table(settings: object, key: str) -> dict[str, object]:
    found = settings.get(key) if isinstance(settings, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def _has_key(name: str, launch: Launch) -> bool:
    folder = Path(launch.environment.get("XDG_DATA_HOME") or launch.home / ".local" / "share")
    logins = read_json(folder / "opencode" / "auth.json")
    is_known = isinstance(logins, Mapping) and name in logins
    return is_known or any(launch.environment.get(variable) for variable in _PROVIDERS[name][2])
