"""`redline run`: an agent behind a proxy of its own, started in one line, with no file changed."""

import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from click.core import ParameterSource

from redline.agents import BaseUrl, Launch, Route, find_agent
from redline.agents.endings import RunTotals
from redline.agents.keeper import RESTARTS_NAME
from redline.agents.logins import subscription_note
from redline.agents.ports import free_port, is_dead
from redline.agents.project_files import shield
from redline.agents.runs import ProxyPort, check_own_proxy, proxy_status, run_agent, started_proxy
from redline.agents.survivors import STORE_VARIABLE, survivors_of
from redline.cli.output import complain, say
from redline.cli.setting_options import config_of, found_setting, with_settings
from redline.errors import ExecutionError, ValidationError
from redline.redaction import redact_text
from redline.settings import SETTINGS

__all__ = ["command"]

_NOT_FOUND = 127
_RESTART_SECONDS = 10.0
_LOOK_SECONDS = 0.1
_PASSED_ON = (
    "proxy.dry_run",
    "proxy.store",
    "proxy.policy",
    "proxy.blobs",
    "proxy.edit_subscriptions",
    "proxy.redact",
    "proxy.otel",
)
"""What is said here is said to the proxy; what is not, the proxy finds in variables and files by itself."""


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@with_settings("proxy.upstream", passed_on=_PASSED_ON)
@click.option("--port", type=click.IntRange(1, 65535), help="The proxy's port; without it, one that is free.")
@click.option("--proxy", "running", metavar="URL", help="Use the proxy that runs there, and start none.")
@click.option("--label", help="What the requests are counted for; without it, the working directory.")
@click.option("--show", is_flag=True, help="Print what would be started, and start nothing.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="AGENT [ARGUMENT]...")
def command(
    upstream: tuple[str, ...],
    dry_run: bool | None,
    store: str | None,
    policy: str | None,
    blobs: str | None,
    edit_subscriptions: bool | None,
    redact: bool | None,
    otel: bool | None,
    port: int | None,
    running: str | None,
    label: str | None,
    show: bool,
    words: tuple[str, ...],
) -> int:
    """Run AGENT with its requests going through Redline: claude, codex, gemini, opencode, cline, or a program with an SDK.

    A proxy starts on this machine and ends with the agent. If the agent leaves a daemon behind, the proxy stays until that
    daemon has ended. Only the agent's own flags and environment are set; no file is changed. An address in your flags wins
    over Redline's. An address in your settings or environment is where the proxy sends requests on to. An address in a file
    of the working directory is named and not followed, by Redline or by the agent: whoever wrote that file would get your key.

    Exit code: the agent's; 127 if it is not installed, 2 if the proxy cannot be started.

    \b
    Examples:
      redline run --dry-run -- claude
      redline run -- codex exec 'fix the test'
      redline run --upstream openai=http://localhost:11434 -- python my_agent.py
    """
    _check_options(click.get_current_context(), words)
    ctx, passed_on = click.get_current_context(), (dry_run, store, policy, blobs, edit_subscriptions, redact, otel)
    options = [word for name, value in zip(_PASSED_ON, passed_on, strict=True) for word in SETTINGS[name].words(value)]
    is_upstream_given = ctx.get_parameter_source("upstream") is ParameterSource.COMMANDLINE
    if running and (options or is_upstream_given or port):
        raise ValidationError("--proxy names a proxy that runs already, with its own store, policy, upstreams, port and mode.")
    agent, launch = find_agent(words[0]), Launch(words[1:], dict(os.environ), Path.home(), Path.cwd())
    taken = None if running or show else ProxyPort.take(port or 0)
    url = (running or (taken.url if taken else f"http://127.0.0.1:{port or free_port()}")).rstrip("/")
    label = label or _label(launch.folder)
    address = f"{url}/s/{quote(label, safe='')}"
    route = agent.route(launch, address)
    for note in (*route.notes, *map(redact_text, agent.not_followed(launch))):
        complain(note)
    if route.is_routed:
        route = replace(route, environment={**shield(launch, address), **_store_of_run(store), **route.environment})
    sent_on = [] if running or not route.is_routed else _sent_on(route, agent.upstreams(launch), upstream)
    options += [*SETTINGS["proxy.upstream"].words(tuple(sent_on)), *_kept_to_this_run(ctx)]
    proxy = None if running or not route.is_routed else ["proxy", "--port", url.rpartition(":")[2], *options]
    if show:
        _show(words[0], route, proxy)
        return 0
    program = shutil.which(words[0])
    if program is None:
        complain(f"{words[0]} is not on the PATH." + (f" npm install -g {agent.package} installs it." if agent.package else ""))
        return _NOT_FOUND
    run = f"{Path(program).name}-{secrets.token_hex(4)}"
    if not route.is_routed:
        if taken is not None:
            taken.listening.close()
        return run_agent(program, route, run, Path())
    with _behind(run, url, taken, proxy) as folder:
        status = proxy_status(url)
        before = RunTotals.of(status, label)
        _say_start(before, "" if status.get("edits_subscriptions") or before.is_dry_run else subscription_note(agent, launch))
        code = run_agent(program, route, run, folder)
        ended = _read_restarts(folder)
        for how in ended:
            complain(f"the proxy ended ({how}) and was started again; requests that were under way are not in these sums")
        try:
            status = _status_at_the_end(url, seconds=_RESTART_SECONDS if ended else 0.0)
        except ExecutionError as problem:  # the agent has done its work, and its exit code says how
            complain(problem)
            complain(f"since it ended, the agent got no answers. Go on with redline run again, or without it: {words[0]}")
            return code
        _say_end(RunTotals.of(status, label).since(before), url, run, status.get("store"))
    return code


def _check_options(ctx: click.Context, words: Sequence[str]) -> None:
    """A UsageError if the agent's name is an option that there is not: what comes after the name is the agent's own."""
    if words[0].startswith("-") and not Path(words[0]).exists():
        known = [option for parameter in ctx.command.params for option in parameter.opts if option.startswith("--")]
        slip = words[0].partition("=")[0]
        near = get_close_matches(slip, known, n=1, cutoff=0.6)
        raise click.NoSuchOption(slip, possibilities=near, ctx=ctx)


def _store_of_run(store: str | None) -> dict[str, str]:
    """Where `redline mcp` finds the record of this run, if it was told here."""
    return {STORE_VARIABLE: store if "://" in store else str(Path(store).expanduser().resolve())} if store else {}


def _kept_to_this_run(ctx: click.Context) -> list[str]:
    """Which file the proxy of a run takes, and that only this machine reaches it, without a token, whatever is set elsewhere.

    The variable REDLINE_TOKEN is not handed to it.
    """
    host, token = (found_setting(ctx, SETTINGS[name]) for name in ("proxy.host", "proxy.token"))
    words = ["--config", config] if (config := config_of(ctx)) else []
    words += [] if host.value == SETTINGS["proxy.host"].default else SETTINGS["proxy.host"].words("127.0.0.1")
    return words + (SETTINGS["proxy.token"].words("") if token.value and token.origin != "variable" else [])


def _label(folder: Path) -> str:
    """The project: the folder's name, and a few letters that tell folders of one name apart.

    It is not new for each run: a session that is resumed is looked up under the label that it had before.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-.")[:40] or "root"
    return f"{name}-{blake2b(os.fsencode(folder), digest_size=3).hexdigest()}"


def _sent_on(route: Route, own: Mapping[str, BaseUrl], given: Sequence[str]) -> list[str]:
    """The proxy's upstreams: as given, else as the agent's login needs them, else as the user's own settings say."""
    sent_on = {provider: f"{provider}={url}" for provider, url in route.upstreams.items()}
    sent_on |= {one.partition("=")[0]: one for one in given}
    for provider, base in own.items():
        if provider in sent_on:
            continue
        shown = redact_text(base.url)
        if is_dead(base.url):
            raise ExecutionError(
                f"{base.where} points to {shown}, where nothing listens. Remove it, or say where requests are to go: "
                f"--upstream {provider}=URL."
            )
        sent_on[provider] = f"{provider}={base.url}"
        complain(f"requests go on to {shown}, as {base.where} says")
    return list(sent_on.values())


def _show(program: str, route: Route, proxy: Sequence[str] | None) -> None:
    if proxy is not None:
        say(shlex.join(["redline", *proxy]))
    variables = [f"{name}={shlex.quote(value)}" for name, value in route.environment.items()]
    variables += [f"{name}=(a private copy)" for name in route.private_files]
    say(redact_text(" ".join([*variables, shlex.join([program, *route.arguments])])))


@contextmanager
def _behind(run: str, url: str, taken: ProxyPort | None, proxy: Sequence[str] | None) -> Iterator[Path]:
    """A folder for the agent's private files, with a proxy to go with it unless one runs already."""
    if taken is None or proxy is None:
        check_own_proxy(url)
        with tempfile.TemporaryDirectory(prefix="redline-run-") as folder:
            yield Path(folder)
        return
    with started_proxy(run, taken, [sys.executable, "-P", "-m", "redline", *proxy]) as kept:
        yield kept


def _say_start(totals: RunTotals, note: str) -> None:
    """What the user should know before the agent takes the terminal."""
    if totals.store_problem:
        complain(f"the store cannot be used, so requests pass unchanged: {totals.store_problem}")
    if note:
        complain(note)


def _read_restarts(folder: Path) -> list[str]:
    """How the proxy ended, each time that it was started again."""
    try:
        return (folder / RESTARTS_NAME).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _status_at_the_end(url: str, *, seconds: float) -> dict[str, Any]:
    """What the proxy says; one that is just being started again gets a few seconds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return proxy_status(url)
        except ExecutionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_LOOK_SECONDS)


def _say_end(totals: RunTotals, url: str, run: str, where: object) -> None:
    """The last lines, on standard error, so that the agent's own output stays as it is."""
    for line in totals.lines():
        complain(line)
    if left := survivors_of(run):
        names = ", ".join(f"{name} ({number})" for number, name in left.items())
        complain(f"still running: {names}. Until they end, the proxy stays at {url}.")
    if where and totals.requests and not totals.store_problem:
        complain(f"redline serve {shlex.quote(str(where))} shows every request, what was struck, and why")
