"""`redline doctor`: which agents are installed, how each would be routed, and which settings point to nothing."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click

from redline.agents.launching import Agent, Launch, SdkProgram
from redline.agents.launching.runs import is_dead
from redline.agents.registry import AGENTS
from redline.cli.formatting import wrapped
from redline.cli.output import columns_of_terminal, complain, counted, say, say_json
from redline.cli.setting_options import found_settings
from redline.errors import ValidationError
from redline.name_clash import find_name_clashes
from redline.policy.settings import SETTINGS
from redline.redaction import redact_text
from redline.store.proxy_files import whole_place

_DEFAULT_PROXY = "http://127.0.0.1:8484"
_VERSION_SECONDS = 20.0
_DECIDE_WHOLE = tuple(SETTINGS[f"proxy.{name}"] for name in ("store", "whole_in", "host"))
"""The settings by which the folder for whole results is chosen."""
_PRINTED = 160
"""How much of a version is shown; some programs print a page."""


@click.command("doctor")
@click.option("--proxy", default=_DEFAULT_PROXY, show_default=True, metavar="URL", help="The proxy in the commands shown.")
@click.option("--json", "as_json", is_flag=True, help="One object for all, for programs.")
def command(proxy: str, as_json: bool) -> int:
    """Say which agents are on the PATH, how each is sent through a proxy, what it loses, and what points to a dead address.

    Addresses in files of the working directory are listed as ignored: `redline run` does not follow them.

    Exit code 0 if all is well, 1 if a setting points to an address of this machine where nothing listens, if a setting of
    Redline cannot be used, or if another project's files are in the package `redline`.

    \b
    Examples:
      redline doctor
      redline doctor --json
    """
    launch = Launch((), dict(os.environ), Path.home(), Path.cwd())
    agents = [_examined(agent, proxy.rstrip("/"), launch) for agent in (*AGENTS, SdkProgram())]
    dead = {base["where"] for one in agents for base in one["base_urls"] if base["is_dead"]}
    settings, found_problems = found_settings(click.get_current_context())
    problems = [*map(str, find_name_clashes()), *found_problems]
    own = [setting.full_name for setting, found in settings.items() if found.origin != "default"]
    whole = whole_place(*(str(settings[one].value if one in settings else one.default) for one in _DECIDE_WHOLE))
    if as_json:
        found = {"settings": own, "problems": problems, "whole_in": whole.folder, "whole_in_none": whole.why_none}
        say_json({"agents": agents, "dead": len(dead), **found}, indent=2)
        return 1 if dead or problems else 0
    for one in agents:
        _show(one)
    say()
    where = f"agents read them whole in {whole.folder}" if whole.folder else f"not possible: {whole.why_none}"
    for line in wrapped(f"Lines left out of results: {where}.", columns_of_terminal()):
        say(line)
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


def _examined(agent: Agent, proxy: str, launch: Launch) -> dict[str, Any]:
    """What is found out about one agent: how it would be started beside a proxy, where its settings send requests today."""
    path = shutil.which(agent.program) if agent.program else None
    argv, said = [path or "", "--version"], list[str]()
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # then nobody knows its version
        if path:
            asked = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=_VERSION_SECONDS, check=False)
            said = asked.stdout.decode(errors="replace").strip().splitlines()
    version = said[-1][:_PRINTED] if said else None
    told = {"agent": agent.name, "program": agent.program, "path": path, "version": version}
    try:
        route = agent.route(launch, proxy)
        bases = [
            {
                "provider": one.provider,
                "url": redact_text(one.url),
                "where": one.where,
                "is_dead": not one.is_project and is_dead(one.url),
                "is_followed": not one.is_project,
            }
            for one in agent.base_urls(launch)
        ]
    except ValidationError as problem:
        found = {"is_routed": False, "command": "", "notes": [], "loses": list(agent.losses), "base_urls": []}
        return {**told, **found, "problem": str(problem) or None}
    line = redact_text(route.shell_line(agent.program or "PROGRAM", private="COPY"))
    found = {"is_routed": route.is_routed, "command": line, "notes": list(route.notes), "loses": list(agent.losses)}
    return {**told, **found, "base_urls": bases, "problem": None}


def _show(one: dict[str, Any]) -> None:
    """A heading, then a line for each thing that is known; what does not fit goes on below itself."""
    say()
    fields: list[tuple[str, str]] = []
    if one["program"]:
        found = one["version"] or "version unknown" if one["path"] else "not on the PATH"
        say(f"{one['agent']}: {found}", "bold" if one["path"] else "")
        fields.append(("run", f"redline run -- {one['program']}" if one["is_routed"] else "not routed"))
    else:
        say("Any other program with an SDK", "bold")
    fields += [("by hand", one["command"])] if one["is_routed"] else []
    fields += [*(("note", text) for text in one["notes"]), *(("loses", text) for text in one["loses"])]
    for base in one["base_urls"]:
        name = "DEAD" if base["is_dead"] else "sent to" if base["is_followed"] else "ignored"
        why = base["where"] if base["is_followed"] else f"{base['where']}, a project's file: not followed"
        fields.append((name, f"{base['url']} ({why})"))
    fields += [("PROBLEM", one["problem"])] if one["problem"] else []
    for name, text in fields:
        for number, line in enumerate(wrapped(text, max(columns_of_terminal() - 12, 20))):
            say(f"  {'' if number else name:<8}  {line}", "red" if name in ("DEAD", "PROBLEM") else "")
