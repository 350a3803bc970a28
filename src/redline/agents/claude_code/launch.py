"""Claude Code: `--settings` beats its settings files, and those beat the environment."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from redline.agents.launching import Agent, BaseUrl, Launch, Route, harmless, project_files, redirects_in
from redline.agents.launching.settings_files import option_values, read_json, table_at, text_at
from redline.errors import ValidationError
from redline.providers.apis import ANTHROPIC

_VARIABLE = ANTHROPIC.base_url_variable
_OTHER_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


class ClaudeCodeAgent(Agent):
    """Anthropic's command-line agent."""

    name = "Claude Code"
    program = "claude"
    package = "@anthropic-ai/claude-code"
    losses = ("Remote Control is off behind any base URL.",)
    key_variables = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")

    def route(self, launch: Launch, proxy: str) -> Route:
        """One `--settings` flag: the user's, if there is one, with the address added, and a project's redirects undone."""
        if flagged := self.flagged(launch):
            return flagged
        if cloud := next((name for name in _OTHER_CLOUDS if launch.environment.get(name)), None):
            note = f"{cloud} is set: requests go to that cloud, not to Redline. Unset it to route Claude Code."
            return Route.unrouted(launch, note)
        settings, rest = _split_settings(launch)
        own_file = table_at(read_json(_own_folder(launch) / "settings.json"), "env")
        kept: dict[str, str] = {}
        for _, variables in _project_variables(launch):
            kept |= harmless(variables, launch, proxy, own_file)
        # Without ENABLE_TOOL_SEARCH some versions load every tool at once when the address is not Anthropic's.
        added = {_VARIABLE: proxy, "ENABLE_TOOL_SEARCH": launch.environment.get("ENABLE_TOOL_SEARCH", "true")}
        settings["env"] = {**kept, **added, **table_at(settings, "env")}
        return Route(("--settings", json.dumps(settings), *rest))

    def with_settings(self, launch: Launch, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Launch:
        """The launch with one `--settings` flag: the user's, changed."""
        settings, rest = _split_settings(launch)
        return replace(launch, arguments=("--settings", json.dumps(change(settings)), *rest))

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The flag, the project's files, which are not followed, the user's file, and the variable."""
        for flag in option_values(launch.arguments, "--settings"):
            if url := text_at(_settings(flag, launch), "env", _VARIABLE):
                yield BaseUrl(ANTHROPIC.name, url, "--settings", is_flag=True)
        for path, variables in _project_variables(launch):
            yield from redirects_in(variables, path)
        own = _own_folder(launch) / "settings.json"
        if url := text_at(read_json(own), "env", _VARIABLE):
            yield BaseUrl(ANTHROPIC.name, url, f"{_VARIABLE} in {own}")
        if named := launch.environment.get(_VARIABLE):
            yield BaseUrl(ANTHROPIC.name, named, f"the variable {_VARIABLE}")

    def has_login(self, launch: Launch) -> bool:
        """Whether it has the token of a subscription."""
        return bool(table_at(read_json(_own_folder(launch) / ".credentials.json")).get("claudeAiOauth"))


def _split_settings(launch: Launch) -> tuple[dict[str, object], list[str]]:
    """What the `--settings` flags of the user say, the last of them, and all other arguments."""
    settings, rest = dict[str, object](), list[str]()
    arguments = iter(launch.arguments)
    for argument in arguments:
        if argument == "--":
            rest += [argument, *arguments]
        elif argument == "--settings":
            settings = _settings(next(arguments, "{}"), launch)
        elif argument.startswith("--settings="):
            settings = _settings(argument.partition("=")[2], launch)
        else:
            rest.append(argument)
    return settings, rest


def _settings(flag: str, launch: Launch) -> dict[str, object]:
    """What a `--settings` flag says: JSON, or a file with it."""
    if not flag.lstrip().startswith("{"):
        return table_at(read_json(launch.folder / flag))
    try:
        return table_at(json.loads(flag))
    except ValueError as problem:
        raise ValidationError(f"--settings is not JSON ({problem}). Give it a JSON object, or the name of a file.") from None


def _own_folder(launch: Launch) -> Path:
    return Path(launch.environment.get("CLAUDE_CONFIG_DIR") or launch.home / ".claude")


def _project_variables(launch: Launch) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """The settings files of the project, and the variables that they set for Claude Code."""
    for path in project_files(launch, (".claude/settings.local.json", ".claude/settings.json"), _own_folder(launch)):
        yield path, table_at(read_json(path), "env")
