"""opencode: a variable holds settings that are laid over those of its files."""

import json
from collections.abc import Iterator
from pathlib import Path

from redline.agents.launching import Agent, BaseUrl, Launch, Route, RoutedProvider, dotenv_redirects, project_files
from redline.agents.launching.settings_files import read_json, table_at, text_at
from redline.errors import ValidationError
from redline.providers.apis import ANTHROPIC, GEMINI, OPENAI

SETTINGS_VARIABLE = "OPENCODE_CONFIG_CONTENT"
_FILES = ("opencode.jsonc", "opencode.json")
_ROUTED = (
    RoutedProvider("anthropic", ANTHROPIC, "/v1", ("ANTHROPIC_API_KEY",)),
    RoutedProvider("openai", OPENAI, "/v1", ("OPENAI_API_KEY",)),
    RoutedProvider("google", GEMINI, "/v1beta", ("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")),
)
_PROVIDERS = {one.name: one for one in _ROUTED}


class OpenCodeAgent(Agent):
    """The agent of sst, with the three providers whose APIs Redline reads."""

    name = "opencode"
    program = "opencode"
    package = "opencode-ai"
    losses = ("Only anthropic, openai and google are routed, and only with a key of theirs.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """The address of each provider that the user has a key for; others would appear in its list of models.

        Providers that the project's files send to an address of theirs are off for this run: they may carry the user's key.
        """
        settings = settings_in(launch)
        providers = table_at(settings, "provider")
        folder = Path(launch.environment.get("XDG_DATA_HOME") or launch.home / ".local" / "share")
        known = {*table_at(read_json(folder / "opencode" / "auth.json")), *providers}
        used = [one.name for one in _ROUTED if one.name in known or any(map(launch.environment.get, one.key_variables))]
        for name in used:
            options = {**table_at(providers, name, "options"), "baseURL": proxy + _PROVIDERS[name].base_url_end}
            providers[name] = {**table_at(providers, name), "options": options}
        if not used:
            note = "opencode has no key of anthropic, openai or google: its requests do not pass Redline."
            return Route.unrouted(launch, note)
        told = {**settings, "provider": providers}
        own = [held for _, held in _own_settings(launch)]
        known_addresses = {address for held in own for address in _addresses(held)}
        given = [address for _, held in _project_settings(launch) for address in _addresses(held)]
        if strangers := [name for name, url in given if (name, url) not in known_addresses and name not in used]:
            lists = (table_at(held).get("disabled_providers") for held in own)
            listed = [one for names in lists if isinstance(names, list) for one in names if isinstance(one, str)]
            told["disabled_providers"] = list(dict.fromkeys([*listed, *strangers]))
        return Route(launch.arguments, {SETTINGS_VARIABLE: json.dumps(told)})

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The project's files, which are not followed; the variable with settings, the user's files, the SDKs' variables."""
        for path, held in _project_settings(launch):
            for name, url in _addresses(held):
                provider = _PROVIDERS[name].api.name if name in _PROVIDERS else ""
                yield BaseUrl(provider, url, f"baseURL of {name} in {path}", is_project=True)
        yield from dotenv_redirects(launch)
        for where, held in _own_settings(launch):
            for name, url in _addresses(held):
                if name in _PROVIDERS:
                    yield BaseUrl(_PROVIDERS[name].api.name, url, f"baseURL of {name} in {where}")
        for api in (ANTHROPIC, OPENAI):
            if set_to := launch.environment.get(api.base_url_variable):
                yield BaseUrl(api.name, set_to, f"the variable {api.base_url_variable}")


def _own_folder(launch: Launch) -> Path:
    return Path(launch.environment.get("XDG_CONFIG_HOME") or launch.home / ".config") / "opencode"


def settings_in(launch: Launch) -> dict[str, object]:
    """What the variable for settings holds."""
    try:
        return table_at(json.loads(launch.environment.get(SETTINGS_VARIABLE) or "{}"))
    except ValueError as problem:
        raise ValidationError(f"{SETTINGS_VARIABLE} is not JSON ({problem}). Mend it, or unset it.") from None


def _own_settings(launch: Launch) -> Iterator[tuple[str, object]]:
    """What the user has set, the strongest first, and where."""
    yield SETTINGS_VARIABLE, settings_in(launch)
    named = [Path(file)] if (file := launch.environment.get("OPENCODE_CONFIG")) else []
    for path in (*named, *(_own_folder(launch) / name for name in _FILES)):
        yield str(path), read_json(path)


def _project_settings(launch: Launch) -> Iterator[tuple[Path, object]]:
    """The settings files of the project."""
    for path in project_files(launch, (*_FILES, *(f".opencode/{name}" for name in _FILES)), _own_folder(launch)):
        yield path, read_json(path)


def _addresses(held: object) -> Iterator[tuple[str, str]]:
    """The providers to which settings give an address, by opencode's names."""
    for name, told in table_at(held, "provider").items():
        yield from ((name, url) for url in (text_at(told, "options", "baseURL"), text_at(told, "api")) if url)
