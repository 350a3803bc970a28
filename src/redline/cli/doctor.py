"""`redline doctor`: which agents are installed, how each would be routed, and which settings point to nothing."""

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import click

from redline.agents import AGENTS, Agent, Launch
from redline.agents.ports import is_dead
from redline.agents.sdk import SdkProgram
from redline.cli.output import columns_of_terminal, complain, counted, say, say_json
from redline.cli.printable import wrapped
from redline.cli.setting_options import found_settings
from redline.errors import ValidationError
from redline.redaction import redact_text

__all__ = ["command"]

_DEFAULT_PROXY = "http://127.0.0.1:8484"
_VERSION_SECONDS = 20.0
_PRINTED = 160
"""How much of a version is shown; some programs print a page."""


@click.command("doctor")
@click.option("--proxy", default=_DEFAULT_PROXY, show_default=True, metavar="URL", help="The proxy in the commands shown.")
@click.option("--json", "as_json", is_flag=True, help="One object for all, for programs.")
def command(proxy: str, as_json: bool) -> int:
    """Say which agents are on the PATH, how each is sent through a proxy, what it loses, and what points to a dead address.

    Addresses in files of the working directory are listed as ignored: `redline run` does not follow them.

    Exit code 0 if all is well, 1 if a setting points to an address of this machine where nothing listens, or if a setting of
    Redline cannot be used.

    \b
    Examples:
      redline doctor
      redline doctor --json
    """
    launch = Launch((), dict(os.environ), Path.home(), Path.cwd())
    examined = [_examine(agent, proxy.rstrip("/"), launch) for agent in (*AGENTS, SdkProgram())]
    dead = {base["where"] for one in examined for base in one.base_urls if base["is_dead"]}
    settings, problems = found_settings(click.get_current_context())
    own = [setting.full_name for setting, found in settings.items() if found.origin != "default"]
    if as_json:
        agents = [one.report() for one in examined]
        say_json({"agents": agents, "dead": len(dead), "settings": own, "problems": list(problems)}, indent=2)
        return 1 if dead or problems else 0
    for one in examined:
        _show(one)
    say()
    if own:
        say(f"Settings of your own: {', '.join(own)}. `redline config` shows them.")
    for problem in problems:
        complain(problem)
    if dead:
        complain(
            f"{counted(len(dead), 'setting')} to a dead address, where requests fail. Remove it, or start what listened there."
        )
        return 1
    say("No setting points to a dead address.")
    return 1 if problems else 0


@dataclass(frozen=True, slots=True)
class _Examined:
    """What was found out about one agent."""

    agent: Agent
    path: str
    version: str
    line: str
    """How it is started by hand beside a proxy."""
    notes: tuple[str, ...]
    is_routed: bool
    base_urls: tuple[dict[str, object], ...]
    problem: str = ""

    def report(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "agent": self.agent.name,
            "program": self.agent.program,
            "path": self.path or None,
            "version": self.version or None,
            "is_routed": self.is_routed,
            "command": self.line,
            "notes": list(self.notes),
            "loses": list(self.agent.losses),
            "base_urls": list(self.base_urls),
            "problem": self.problem or None,
        }


def _examine(agent: Agent, proxy: str, launch: Launch) -> _Examined:
    path = shutil.which(agent.program) or "" if agent.program else ""
    try:
        route = agent.route(launch, proxy)
        bases = tuple(
            {
                "provider": one.provider,
                "url": redact_text(one.url),
                "where": one.where,
                "is_dead": not one.is_project and is_dead(one.url),
                "is_followed": not one.is_project,
            }
            for one in agent.base_urls(launch)
        )
    except ValidationError as problem:
        return _Examined(agent, path, _version(path), "", (), False, (), str(problem))
    variables = [f"{name}={shlex.quote(value)}" for name, value in route.environment.items()]
    variables += [f"{name}=COPY" for name in route.private_files]
    line = redact_text(" ".join([*variables, shlex.join([agent.program or "PROGRAM", *route.arguments])]))
    return _Examined(agent, path, _version(path), line, route.notes, route.is_routed, bases)


def _version(path: str) -> str:
    """What the program says of its version."""
    if not path:
        return ""
    try:
        question = [path, "--version"]
        asked = subprocess.run(question, capture_output=True, stdin=subprocess.DEVNULL, timeout=_VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = asked.stdout.decode(errors="replace").strip().splitlines()
    return lines[-1][:_PRINTED] if lines else ""


def _show(one: _Examined) -> None:
    say()
    if one.agent.program:
        say(f"{one.agent.name}: {one.version or 'version unknown' if one.path else 'not on the PATH'}", is_bold=bool(one.path))
    else:
        say("Any other program with an SDK", is_bold=True)
    if one.agent.program:
        _show_field("run", f"redline run -- {one.agent.program}" if one.is_routed else "not routed")
    for name, texts in (("by hand", [one.line] if one.is_routed else []), ("note", one.notes), ("loses", one.agent.losses)):
        for text in texts:
            _show_field(name, text)
    for base in one.base_urls:
        name = "DEAD" if base["is_dead"] else "sent to" if base["is_followed"] else "ignored"
        why = base["where"] if base["is_followed"] else f"{base['where']}, a project's file: not followed"
        _show_field(name, f"{base['url']} ({why})", is_bad=bool(base["is_dead"]))
    if one.problem:
        _show_field("PROBLEM", one.problem, is_bad=True)


def _show_field(name: str, text: str, *, is_bad: bool = False) -> None:
    """A name and a text that goes on below itself."""
    for number, line in enumerate(wrapped(text, max(columns_of_terminal() - 12, 20))):
        say(f"  {'' if number else name:<8}  {line}", color="red" if is_bad else None)
