"""opencode: a variable holds settings that are laid over those of its files."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from redline.agents.agent import Agent, BaseUrl, Launch, Route, read_json
from redline.agents.project_files import dotenv_redirects, project_folders
from redline.errors import ValidationError

__all__ = ["OpenCodeAgent"]

_SETTINGS = "OPENCODE_CONFIG_CONTENT"
_ENDS = (".jsonc", ".json")
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
        """The address of each provider that the user has a key for; others would appear in its list of models.

        What the project's files redirect is off for this run: they may name another provider with the user's key in it.
        """
        settings = _content(launch)
        providers = _table(settings, "provider")
        used = [name for name in _PROVIDERS if _has_key(name, launch) or name in providers]
        for name in used:
            options = {**_table(_table(providers, name), "options"), "baseURL": proxy + _PROVIDERS[name][1]}
            providers[name] = {**_table(providers, name), "options": options}
        if not used:
            note = "opencode has no key of anthropic, openai or google: its requests do not pass Redline."
            return Route(launch.arguments, notes=(note,), is_routed=False)
        told = {**settings, "provider": providers}
        if strangers := [name for name in _strangers(launch) if name not in used]:
            listed = [one for _, held in _own_settings(launch) for one in _names(held, "disabled_providers")]
            told["disabled_providers"] = list(dict.fromkeys([*listed, *strangers]))
        return Route(launch.arguments, {_SETTINGS: json.dumps(told)})

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The project's files, which are not followed; the variable with settings, the user's files, the SDKs' variables."""
        for path, held in _project_settings(launch):
            for name, url in _addresses(held):
                provider = _PROVIDERS[name][0] if name in _PROVIDERS else ""
                yield BaseUrl(provider, url, f"baseURL of {name} in {path}", is_project=True)
        yield from dotenv_redirects(launch)
        for where, held in _own_settings(launch):
            for name, url in _addresses(held):
                if name in _PROVIDERS:
                    yield BaseUrl(_PROVIDERS[name][0], url, f"baseURL of {name} in {where}")
        for provider, variable in (("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")):
            if set_to := launch.environment.get(variable):
                yield BaseUrl(provider, set_to, f"the variable {variable}")


def _own_folder(launch: Launch) -> Path:
    return Path(launch.environment.get("XDG_CONFIG_HOME") or launch.home / ".config") / "opencode"


def _own_settings(launch: Launch) -> Iterator[tuple[str, object]]:
    """What the user has set, the strongest first, and where."""
    yield _SETTINGS, _content(launch)
    named = [Path(file)] if (file := launch.environment.get("OPENCODE_CONFIG")) else []
    for path in (*named, *(_own_folder(launch) / f"opencode{end}" for end in _ENDS)):
        yield str(path), read_json(path)


def _project_settings(launch: Launch) -> Iterator[tuple[Path, object]]:
    """The settings files of the project."""
    own = _own_folder(launch).resolve()
    for folder in project_folders(launch):
        for place in (folder, folder / ".opencode"):
            if place.resolve() != own:
                yield from ((place / f"opencode{end}", read_json(place / f"opencode{end}")) for end in _ENDS)


def _addresses(held: object) -> Iterator[tuple[str, str]]:
    """The providers to which settings give an address, by opencode's names."""
    for name, told in _table(held, "provider").items():
        for url in (_table(told, "options").get("baseURL"), told.get("api") if isinstance(told, Mapping) else None):
            if isinstance(url, str) and url:
                yield name, url


def _strangers(launch: Launch) -> Iterator[str]:
    """The providers that the project's files send to an address which the user has not given them."""
    own = {address for _, held in _own_settings(launch) for address in _addresses(held)}
    for _, held in _project_settings(launch):
        yield from (name for name, url in _addresses(held) if (name, url) not in own)


def _names(held: object, key: str) -> list[str]:
    found = held.get(key) if isinstance(held, Mapping) else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


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
