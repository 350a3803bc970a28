"""Codex: it ignores `OPENAI_BASE_URL`; its setting `openai_base_url` can be given on the command line."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from redline.agents.agent import Agent, BaseUrl, Launch, Route, option_values, read_json
from redline.errors import ValidationError

__all__ = ["CodexAgent"]

_CHATGPT = "https://chatgpt.com/backend-api/codex"


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
        if not _is_logged_in_with_chatgpt(launch):
            return Route(("-c", f'openai_base_url="{proxy}/v1"', *launch.arguments))
        note = "Codex is logged in with ChatGPT: Redline looks on and changes nothing, unless it is told to."
        return Route(("-c", f'openai_base_url="{proxy}"', *launch.arguments), upstreams={"openai": _CHATGPT}, notes=(note,))

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The flag, and the user's file."""
        for setting in option_values(launch.arguments, "-c", "--config"):
            key, _, value = setting.partition("=")
            if key.strip() == "openai_base_url":
                yield BaseUrl("openai", value.strip().strip("\"'"), "-c openai_base_url", is_flag=True)
        url = _config(launch).get("openai_base_url")
        if isinstance(url, str) and url:
            yield BaseUrl("openai", url, f"openai_base_url in {_folder(launch) / 'config.toml'}")


def _folder(launch: Launch) -> Path:
    return Path(launch.environment.get("CODEX_HOME") or launch.home / ".codex")


def _config(launch: Launch) -> Mapping[str, object]:
    path = _folder(launch) / "config.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return {}
    except tomllib.TOMLDecodeError as problem:
        raise ValidationError(f"{path} is not TOML ({problem}). Codex would not start either; mend it.") from None


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
