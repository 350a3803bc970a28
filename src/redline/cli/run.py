"""`redline run`: an agent behind a proxy of its own, started in one line, with no file changed."""

import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

import click

from redline.agents import BaseUrl, Launch, Route, find_agent
from redline.agents.endings import RunTotals
from redline.agents.ports import free_port, is_dead
from redline.agents.runs import proxy_status, run_agent, started_proxy
from redline.agents.survivors import survivors_of
from redline.cli.output import complain, say
from redline.errors import ExecutionError, ValidationError
from redline.redaction import redact_text

__all__ = ["command"]

_NOT_FOUND = 127


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--dry-run", is_flag=True, help="Change nothing; say at the end what would have been saved. Begin with this.")
@click.option("--store", help="Where the record is: a folder or a database; as for redline proxy.")
@click.option("--policy", help="A policy by name, or a file; as for redline proxy.")
@click.option(
    "--edit-subscriptions", is_flag=True, help="Edit what a subscription pays for, too; it is only observed otherwise."
)
@click.option("--redact", is_flag=True, help="Keep secrets out of what is recorded.")
@click.option("--otel", is_flag=True, help="Export spans and metrics; as for redline proxy.")
@click.option("--upstream", "upstreams", multiple=True, metavar="PROVIDER=URL", help="Where the requests go on to.")
@click.option("--port", type=click.IntRange(1, 65535), help="The proxy's port; without it, one that is free.")
@click.option("--proxy", "running", metavar="URL", help="Use the proxy that runs there, and start none.")
@click.option("--label", help="What the requests are counted for; without it, the working directory.")
@click.option("--show", is_flag=True, help="Print what would be started, and start nothing.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="AGENT [ARGUMENT]...")
def command(
    dry_run: bool,
    store: str | None,
    policy: str | None,
    edit_subscriptions: bool,
    redact: bool,
    otel: bool,
    upstreams: tuple[str, ...],
    port: int | None,
    running: str | None,
    label: str | None,
    show: bool,
    words: tuple[str, ...],
) -> int:
    """Run AGENT with its requests going through Redline: claude, codex, gemini, opencode, cline, or a program with an SDK.

    A proxy is started on this launch and ends with the agent; if the agent leaves a daemon, the proxy stays until that has
    ended too. Only the agent's own flags and environment are set; no file is changed. An address in your flags wins over
    Redline's; one in your settings or environment is where the proxy sends requests on to.

    Exit code: the agent's; 127 if it is not installed, 2 if the proxy cannot be started.

    \b
    Examples:
      redline run --dry-run -- claude
      redline run -- codex exec 'fix the test'
      redline run --upstream openai=http://localhost:11434 -- python my_agent.py
    """
    flags = {"--dry-run": dry_run, "--edit-subscriptions": edit_subscriptions, "--redact": redact, "--otel": otel}
    options = [*_option("--store", store), *_option("--policy", policy), *(name for name, is_set in flags.items() if is_set)]
    if running and (options or upstreams or port):
        raise ValidationError("--proxy names a proxy that runs already, with its own store, policy, upstreams, port and mode.")
    agent, launch = find_agent(words[0]), Launch(words[1:], dict(os.environ), Path.home(), Path.cwd())
    url = (running or f"http://127.0.0.1:{port or free_port()}").rstrip("/")
    label = label or _label(launch.folder)
    route = agent.route(launch, f"{url}/s/{quote(label, safe='')}")
    for note in route.notes:
        complain(note)
    sent_on = [] if running or not route.is_routed else _sent_on(route, agent.upstreams(launch), upstreams)
    options += [word for one in sent_on for word in _option("--upstream", one)]
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
        return run_agent(program, route, run, Path())
    with _behind(run, url, proxy) as folder:
        before = RunTotals.of(proxy_status(url), label)
        code = run_agent(program, route, run, folder)
        try:
            status = proxy_status(url)
        except ExecutionError as problem:  # the agent has done its work, and its exit code says how
            complain(problem)
            return code
        _say_end(RunTotals.of(status, label).since(before), url, run, status.get("store"))
    return code


def _option(name: str, value: str | None) -> list[str]:
    return [name, value] if value else []


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
def _behind(run: str, url: str, proxy: Sequence[str] | None) -> Iterator[Path]:
    """A folder for the agent's private files, with a proxy to go with it unless one runs already."""
    if proxy is None:
        proxy_status(url)
        with tempfile.TemporaryDirectory(prefix="redline-run-") as folder:
            yield Path(folder)
        return
    with started_proxy(run, url, [sys.executable, "-P", "-m", "redline", *proxy]) as kept:
        yield kept


def _say_end(totals: RunTotals, url: str, run: str, where: object) -> None:
    """The last lines, on standard error, so that the agent's own output stays as it is."""
    for line in totals.lines():
        complain(line)
    if left := survivors_of(run):
        names = ", ".join(f"{name} ({number})" for number, name in left.items())
        complain(f"still running: {names}. Until they end, the proxy stays at {url}.")
    if where:
        complain(f"redline serve {shlex.quote(str(where))} shows every request, what was struck, and why")
