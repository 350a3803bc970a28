"""`redline tools`: what the definition of each tool costs, how often it is called, and how to switch it off."""

from collections import Counter
from collections.abc import Iterator, Sequence

import click
import msgspec

from redline.cli.arguments import SESSION
from redline.cli.loaded_session import EXIT_OK, for_each_session
from redline.cli.output import Column, counted, say, say_json, say_wrapped, show_rows, show_title
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.proof.tool_costs import ToolCost, ToolCosts
from redline.sessions.read_session import read_session

_WIDEST = 100
_USUAL_LIMIT = 40
_MOST_NAMED = 3
_SWITCHES = {
    "Claude Code": (
        "claude --disallowedTools {names}; ENABLE_TOOL_SEARCH=auto for those of MCP servers; claude mcp remove SERVER",
        ("claude-code", "Read", "Bash", "TodoWrite", "Task"),
    ),
    "Codex": (
        "in ~/.codex/config.toml: [mcp_servers.NAME] with enabled = false, or disabled_tools = [{quoted}]",
        ("codex", "shell", "exec_command", "apply_patch", "update_plan"),
    ),
    "Gemini CLI": (
        'in ~/.gemini/settings.json: {{"tools": {{"exclude": [{quoted}]}}}}, or excludeTools of one server in mcpServers',
        ("gemini-cli", "run_shell_command", "read_file", "replace", "write_file"),
    ),
    "opencode": (
        'in opencode.json: {{"tools": {{{denied}}}}}, or {{"mcp": {{"NAME": {{"enabled": false}}}}}}',
        ("opencode", "bash", "read", "edit", "todowrite"),
    ),
}
"""By agent: how its users switch tools off, then the name of its files and tools that only it has."""
_LEAST_ALIKE = 2
"""So many of an agent's own tools in a log of Redline's say whose it is."""


@click.command("tools")
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--limit", type=click.IntRange(min=1), default=_USUAL_LIMIT, show_default=True, help="How many tools are listed.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for programs, with every tool.")
def command(sessions: tuple[str, ...], limit: int, as_json: bool) -> int:
    """Say what each tool definition costs over sessions, how often it was called, and how to switch off what never is.

    SESSION is a session, a folder or a store. Definitions are sent with every request, called or not. Redline's own logs say
    how large each is (sessions that ran behind `redline run` or `redline proxy`); agents' session files do not hold them, so
    that of those only the calls are counted. Money is modelled at list prices. This is a report: Redline changes no tools.

    Exit code 0, or 2 if a session could not be read; the others are still counted.

    \b
    Examples:
      redline tools ~/.redline
      redline tools 1 --json
    """
    costs, agents = ToolCosts(), Counter[str]()

    def read(source: SessionInput) -> int:
        session = read_session(source)
        agents.update([session.transcript.format] if session.transcript is not None else ())
        costs.add(session.histories())
        return EXIT_OK

    inputs = find_sessions(sessions)
    code = for_each_session(inputs, read, has_bar=not as_json)
    found = costs.found()
    unused = [one for one in found if one.requests and not one.calls]
    hints = list(_hints(unused, {one.name for one in found}, agents)) if unused else []
    if as_json:
        told = {"requests": costs.requests, "requests_with_known_definitions": costs.known_requests}
        say_json({**told, "tools": msgspec.to_builtins(found), "unused": [one.name for one in unused], "switch_off": hints})
        return code
    if not found:
        say(f"No tool is offered or called in {counted(len(inputs), 'session')}.")
        return code
    _show(found, limit)
    for line in (*_summary(costs, unused), *hints):
        say()
        say_wrapped(line, _WIDEST)
    return code


def _show(found: Sequence[ToolCost], limit: int) -> None:
    show_title("Tools: what their definitions cost, and how often they were called")
    columns = (Column("tool", "words"), *(Column(one, "number") for one in ("tokens", "requests", "cost", "calls", "sessions")))
    rows = [
        (
            one.name,
            f"{one.tokens:,}" if one.requests else "",
            f"{one.requests:,}" if one.requests else "",
            f"${one.usd:,.4f}" if one.usd else "",
            f"{one.calls:,}",
            f"{one.sessions:,}",
        )
        for one in found[:limit]
    ]
    show_rows(columns, rows, left_out=max(len(found) - limit, 0))


def _summary(costs: ToolCosts, unused: Sequence[ToolCost]) -> Iterator[str]:
    """What is never called, and what cannot be known."""
    if unused:
        tokens, usd = sum(one.sent_tokens for one in unused), sum(one.usd for one in unused)
        money = f", ${usd:,.4f} at list prices (modelled)" if usd else ""
        yield f"Never called: {counted(len(unused), 'tool')}, {tokens:,} tokens over all requests{money}."
    if missing := costs.requests - costs.known_requests:
        yield (
            f"Of {missing:,} of {counted(costs.requests, 'request')} the definitions are not known: session files of agents do "
            "not hold them, nor logs of older versions. Behind `redline run` or `redline proxy` they are counted."
        )


def _hints(unused: Sequence[ToolCost], names: set[str], agents: Counter[str]) -> Iterator[str]:
    """How to switch off what was never called, in each agent that is met."""
    dearest = [one.name for one in unused[:_MOST_NAMED]]
    words = {
        "names": " ".join(f"'{name}'" for name in dearest),
        "quoted": ", ".join(f'"{name}"' for name in dearest),
        "denied": ", ".join(f'"{name}": false' for name in dearest),
    }
    for agent, (how, (format, *own)) in _SWITCHES.items():
        if format in agents or len(names.intersection(own)) >= _LEAST_ALIKE:
            yield f"{agent}: {how.format(**words)}."
