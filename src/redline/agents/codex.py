"""Codex: it ignores `OPENAI_BASE_URL`; its setting `openai_base_url` can be given on the command line."""

import contextlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from redline.agents.agent import Agent, BaseUrl, Launch, Route, option_values, read_json, read_text
from redline.agents.project_files import project_folders
from redline.errors import ValidationError

__all__ = ["CodexAgent"]

_CHATGPT = "https://chatgpt.com/backend-api/codex"
_CHATGPT_BASE = "https://chatgpt.com/backend-api/"


class CodexAgent(Agent):
    """OpenAI's command-line agent."""

    name = "Codex"
    program = "codex"
    package = "@openai/codex"
    losses = ("It sends the whole history over HTTP, not what is new over a WebSocket.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """A `-c` ahead of everything else, which holds for each of its commands."""
        if flagged := self.flagged(launch):
            return flagged
        if provider := _other_provider(launch):
            note = f"Codex uses the model provider {provider}, which has its own address: its requests do not pass Redline."
            return Route(launch.arguments, notes=(note,), is_routed=False)
        kept = [word for setting in _undone(launch) for word in ("-c", setting)]
        if not _is_logged_in_with_chatgpt(launch):
            return Route(("-c", f'openai_base_url="{proxy}/v1"', *kept, *launch.arguments))
        note = "Codex is logged in with ChatGPT: Redline looks on and changes nothing, unless it is told to."
        arguments = ("-c", f'openai_base_url="{proxy}"', *kept, *launch.arguments)
        return Route(arguments, upstreams={"openai": _CHATGPT}, notes=(note,))

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The flag, the project's files, which are not followed, and the user's file."""
        for setting in option_values(launch.arguments, "-c", "--config"):
            key, _, value = setting.partition("=")
            if key.strip() == "openai_base_url":
                yield BaseUrl("openai", value.strip().strip("\"'"), "-c openai_base_url", is_flag=True)
        for path, held in _project_configs(launch):
            for key, value in _redirects(held):
                yield BaseUrl("openai" if key == "openai_base_url" else "", value, f"{key} in {path}", is_project=True)
        url = _config(launch).get("openai_base_url")
        if isinstance(url, str) and url:
            yield BaseUrl("openai", url, f"openai_base_url in {_folder(launch) / 'config.toml'}")


def _folder(launch: Launch) -> Path:
    return Path(launch.environment.get("CODEX_HOME") or launch.home / ".codex")


def _config(launch: Launch) -> Mapping[str, object]:
    path = _folder(launch) / "config.toml"
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as problem:
        raise ValidationError(f"{path} is not TOML ({problem}). Codex would not start either; mend it.") from None


def _project_configs(launch: Launch) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """The project's files, which Codex reads once the user trusts the folder; one that is no TOML stops Codex by itself."""
    for folder in project_folders(launch):
        path = folder / ".codex" / "config.toml"
        if path.parent.resolve() != _folder(launch).resolve():
            with contextlib.suppress(tomllib.TOMLDecodeError):
                yield path, tomllib.loads(read_text(path))


def _redirects(held: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The settings in a file that say where requests go, at its top and in its profiles."""
    profiles = held.get("profiles")
    named = profiles.items() if isinstance(profiles, Mapping) else ()
    tables = {"": held, **{f"profiles.{name}.": table for name, table in named if isinstance(table, Mapping)}}
    for prefix, table in tables.items():
        for key in ("openai_base_url", "chatgpt_base_url", "model_provider"):
            if isinstance(value := table.get(key), str) and value:
                yield prefix + key, value


def _undone(launch: Launch) -> dict[str, None]:
    """What is said with `-c`, which beats every file, so that a project's redirects have no effect."""
    own = _config(launch).get("chatgpt_base_url")
    values = {"chatgpt_base_url": own if isinstance(own, str) else _CHATGPT_BASE, "model_provider": "openai"}
    found = (key for _, held in _project_configs(launch) for key, _ in _redirects(held))
    names = ((key, key.rpartition(".")[2]) for key in found)
    return dict.fromkeys(f"{key}={json.dumps(values[name])}" for key, name in names if name in values)


def _other_provider(launch: Launch) -> str:
    """The model provider, where it is not OpenAI: from the flags, else from the file."""
    if "--oss" in launch.arguments:
        return "oss"
    chosen: object = _config(launch).get("model_provider")
    for setting in option_values(launch.arguments, "-c", "--config"):
        key, _, value = setting.partition("=")
        if key.strip() == "model_provider":
            chosen = value.strip().strip("\"'")
    return chosen if isinstance(chosen, str) and chosen != "openai" else ""


def _is_logged_in_with_chatgpt(launch: Launch) -> bool:
    """Whether its requests carry the token of a subscription, not a key."""
    login = read_json(_folder(launch) / "auth.json")
    has_key = launch.environment.get("CODEX_API_KEY") or (isinstance(login, Mapping) and login.get("OPENAI_API_KEY"))
    return not has_key and isinstance(login, Mapping) and bool(login.get("tokens"))
