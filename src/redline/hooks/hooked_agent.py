"""What a module must hold about an agent whose hook can fold: its events, its settings, and one run with the hook."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, Protocol, cast

from redline.agents.launching import Launch
from redline.errors import ValidationError
from redline.hooks import HOOKED_AGENTS
from redline.hooks.installation import SettingsChange


class HookedAgent(Protocol):
    """A module of `HOOKED_AGENTS`. The first three are called while the agent waits, so the module imports little."""

    @property
    def PROGRAM(self) -> str:  # noqa: N802  # a constant of a module
        """How the agent is called on the command line."""
        ...

    @property
    def IS_FOR_RUNS(self) -> bool:  # noqa: N802
        """Whether a flag or a variable switches the hook on for one run."""
        ...

    def event_of(self, told: dict[str, Any]) -> dict[str, Any] | None:
        """An event with the keys `tool_name`, `tool_input`, `tool_response` and `session_id`; None for any other event."""
        ...

    def change_output(self, tool: str, output: Any, change: Callable[[str], str | None]) -> Any:
        """The output with its words changed, in the shape that it had; None where nothing changes."""
        ...

    def answer(self, output: Any) -> dict[str, Any]:
        """What a hook prints so that the model is sent another output."""
        ...

    def settings_path(self, environment: Mapping[str, str], home: Path, project: Path | None) -> Path:
        """The file that the hook is installed in, for all projects or for one. A ValidationError if it has none for one."""
        ...

    def installed(self, path: Path, store: str) -> SettingsChange:
        """The file with the hook for a store; one for another Python or store is replaced."""
        ...

    def uninstalled(self, path: Path) -> SettingsChange:
        """The file without the hook."""
        ...

    def launched(self, launch: Launch, store: str) -> Launch:
        """A start of the agent with the hook for this run alone. A ValidationError where it has neither flag nor variable."""
        ...


def hooked_agent(name: str) -> HookedAgent:
    """What is known of an agent."""
    return cast("HookedAgent", import_module(HOOKED_AGENTS[name]))


def hooked_program(program: str) -> HookedAgent | None:
    """The agent that a program is, by the name of its file; None if its hook cannot fold."""
    name = PurePath(program).name
    return next((agent for agent in map(hooked_agent, HOOKED_AGENTS) if name == agent.PROGRAM), None)


def hooked_for_run(program: str) -> bool:
    """Whether a program takes its hook by a flag or a variable, for one run."""
    agent = hooked_program(program)
    return agent is not None and agent.IS_FOR_RUNS


def with_hook(program: str, launch: Launch, store: str) -> Launch:
    """The start of a program with its own hook for this run alone. A ValidationError says which programs can have one."""
    agent = hooked_program(program)
    if agent is None:
        known = ", ".join(hooked_agent(name).PROGRAM for name in HOOKED_AGENTS)
        raise ValidationError(
            f"{PurePath(program).name} has no hook with which Redline can fold; {known} have one. Leave --hooks out."
        )
    return agent.launched(launch, store)
