"""Claude Code: `--settings` beats its settings files, and those beat the environment."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from redline.agents.agent import Agent, BaseUrl, Launch, Route, option_values, read_json
from redline.agents.project_files import harmless, project_folders, redirects_in
from redline.errors import ValidationError

__all__ = ["ClaudeCodeAgent"]

_VARIABLE = "ANTHROPIC_BASE_URL"
_OTHER_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


class ClaudeCodeAgent(Agent):
    """Anthropic's command-line agent."""

    name = "Claude Code"
    program = "claude"
    package = "@anthropic-ai/claude-code"
    losses = ("Remote Control is off behind any base URL.",)

    def route(self, launch: Launch, proxy: str) -> Route:
        """One `--settings` flag: the user's, if there is one, with the address added, and a project's redirects undone."""
        if flagged := self.flagged(launch):
            return flagged
        if cloud := next((name for name in _OTHER_CLOUDS if launch.environment.get(name)), None):
            note = f"{cloud} is set: requests go to that cloud, not to Redline. Unset it to route Claude Code."
            return Route(launch.arguments, notes=(note,), is_routed=False)
        own, rest = _without_settings(launch.arguments)
        settings = _settings(own, launch) if own is not None else {}
        own_file = _variables_in(read_json(_own_folder(launch) / "settings.json"))
        kept: dict[str, str] = {}
        for _, variables in _project_variables(launch):
            kept |= harmless(variables, launch, proxy, own_file)
        # Without ENABLE_TOOL_SEARCH some versions load every tool at once when the address is not Anthropic's.
        added = {_VARIABLE: proxy, "ENABLE_TOOL_SEARCH": launch.environment.get("ENABLE_TOOL_SEARCH", "true")}
        settings["env"] = {**kept, **added, **_variables_in(settings)}
        return Route(("--settings", json.dumps(settings), *rest))

    def base_urls(self, launch: Launch) -> Iterator[BaseUrl]:
        """The flag, the project's files, which are not followed, the user's file, and the variable."""
        for flag in option_values(launch.arguments, "--settings"):
            if url := _url_in(_settings(flag, launch)):
                yield BaseUrl("anthropic", url, "--settings", is_flag=True)
        for path, variables in _project_variables(launch):
            yield from redirects_in(variables, path)
        own = _own_folder(launch) / "settings.json"
        if url := _url_in(read_json(own)):
            yield BaseUrl("anthropic", url, f"{_VARIABLE} in {own}")
        if named := launch.environment.get(_VARIABLE):
            yield BaseUrl("anthropic", named, f"the variable {_VARIABLE}")


def _without_settings(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The value of the flag, and all other arguments."""
    value: str | None = None
    rest: list[str] = []
    is_waiting = False
    for place, argument in enumerate(arguments):
        if is_waiting:
            value, is_waiting = argument, False
        elif argument == "--":
            return value, [*rest, *arguments[place:]]
        elif argument == "--settings":
            is_waiting = True
        elif argument.startswith("--settings="):
            value = argument.partition("=")[2]
        else:
            rest.append(argument)
    return value, rest


def _settings(flag: str, launch: Launch) -> dict[str, object]:
    """What a `--settings` flag says: JSON, or a file with it."""
    if not flag.lstrip().startswith("{"):
        found = read_json(launch.folder / flag)
        return found if isinstance(found, dict) else {}
    try:
        settings = json.loads(flag)
    except ValueError as problem:
        raise ValidationError(f"--settings is not JSON ({problem}). Give it a JSON object, or the name of a file.") from None
    return settings if isinstance(settings, dict) else {}


def _own_folder(launch: Launch) -> Path:
    return Path(launch.environment.get("CLAUDE_CONFIG_DIR") or launch.home / ".claude")


def _project_variables(launch: Launch) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """The settings files of the project, and the variables that they set for Claude Code."""
    own = _own_folder(launch).resolve()
    for folder in project_folders(launch):
        for name in ("settings.local.json", "settings.json"):
            path = folder / ".claude" / name
            if path.parent.resolve() != own:
                yield path, _variables_in(read_json(path))


def _variables_in(settings: object) -> Mapping[str, object]:
    variables = settings.get("env") if isinstance(settings, Mapping) else None
    return variables if isinstance(variables, Mapping) else {}


def _url_in(settings: object) -> str:
    url = _variables_in(settings).get(_VARIABLE)
    return url if isinstance(url, str) else ""
