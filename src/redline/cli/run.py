"""`redline run`: an agent behind a proxy of its own, started in one line, with no file changed."""

import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from click.core import ParameterSource

from redline.agents.launching import Agent, BaseUrl, Launch, Route, shield
from redline.agents.launching.leftover_processes import STORE_VARIABLE, leftover_processes
from redline.agents.launching.proxy_supervisor import RESTARTS_NAME
from redline.agents.launching.run_summary import RunTotals
from redline.agents.launching.runs import ProxyPort, check_own_proxy, free_port, is_dead, proxy_status, run_agent, started_proxy
from redline.agents.registry import find_agent
from redline.cli.output import complain, counted, say
from redline.cli.setting_options import config_of, found_setting, with_settings
from redline.errors import ExecutionError, ValidationError
from redline.hooks.accounts import read_hook_accounts
from redline.hooks.hooked_agent import hooked_for_run, with_hook
from redline.policy.settings import SETTINGS, SettingData
from redline.redaction import redact_text

_NOT_FOUND = 127
_RESTART_SECONDS = 10.0
_LOOK_SECONDS = 0.1
_PASSED_ON = (
    *("proxy.dry_run", "proxy.store", "proxy.policy", "proxy.blobs", "proxy.whole_in", "proxy.edit_subscriptions"),
    *("proxy.report_usage", "proxy.redact", "proxy.otel", "proxy.holdout", "proxy.prices"),
    *("proxy.warn_usd", "proxy.max_usd", "proxy.warn_usd_day", "proxy.max_usd_day"),
)
"""What is said here is said to the proxy; what is not, the proxy finds in variables and files by itself."""


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@with_settings("proxy.upstream", passed_on=_PASSED_ON)
@click.option("--port", type=click.IntRange(1, 65535), help="The proxy's port; without it, one that is free.")
@click.option("--proxy", "running", metavar="URL", help="Use the proxy that runs there, and start none.")
@click.option("--label", help="What the requests are counted for; without it, the working directory.")
@click.option(
    "--hooks", is_flag=True, help="For this run, fold what tools print by the agent's own hook: claude, opencode, pi."
)
@click.option("--show", is_flag=True, help="Print what would be started, and start nothing.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="AGENT [ARGUMENT]...")
def command(
    upstream: tuple[str, ...],
    port: int | None,
    running: str | None,
    label: str | None,
    hooks: bool,
    show: bool,
    words: tuple[str, ...],
    **passed_on: SettingData,
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
    ctx = click.get_current_context()
    _check_options(ctx, words[0], running)
    options = [word for name in _PASSED_ON for word in SETTINGS[name].to_argv(passed_on[SETTINGS[name].name])]
    agent, launch = find_agent(words[0]), Launch(words[1:], dict(os.environ), Path.home(), Path.cwd())
    hook_store = str(passed_on["store"] or found_setting(ctx, SETTINGS["proxy.store"]).value) if hooks else ""
    launch = with_hook(words[0], launch, hook_store) if hooks else launch
    taken = None if running or show else ProxyPort.take(port or 0)
    url = (running or (taken.url if taken else f"http://127.0.0.1:{port or free_port()}")).rstrip("/")
    label = label or _label(launch.folder)
    address = f"{url}/s/{quote(label, safe='')}"
    route = _route(agent, launch, address, str(passed_on["store"] or ""))
    sent_on = [] if running or not route.is_routed else _sent_on(route, agent.upstreams(launch), upstream)
    options += [*SETTINGS["proxy.upstream"].to_argv(tuple(sent_on)), *_kept_to_this_run(ctx)]
    proxy = None if running or not route.is_routed else ["proxy", "--port", url.rpartition(":")[2], *options]
    if show:
        if proxy is not None:
            say(shlex.join(["redline", *proxy]))
        say(redact_text(route.shell_line(words[0], private="(a private copy)")))
        return 0
    program = shutil.which(words[0])
    if program is None:
        complain(f"{words[0]} is not on the PATH." + (f" npm install -g {agent.package} installs it." if agent.package else ""))
        return _NOT_FOUND
    name = f"{Path(program).name}-{secrets.token_hex(4)}"
    run = _StartedAgent(words[0], program, route, name, url, label, hook_store)
    if route.is_routed:
        return run.through_proxy(taken, proxy, agent.subscription_note(launch))
    if taken is not None:
        taken.listening.close()
    return run_agent(program, route, run.name, Path())


def _route(agent: Agent, launch: Launch, address: str, store: str) -> Route:
    """How the agent is started, with the variables of its hook, a shield against the project's files, and the store's name."""
    route = agent.route(launch, address)
    for note in (*route.notes, *map(redact_text, agent.not_followed(launch))):
        complain(note)
    environment = {name: value for name, value in launch.environment.items() if os.environ.get(name) != value}
    if route.is_routed:
        environment |= shield(launch, address)
        if store:  # where `redline mcp` finds the record of this run
            environment |= {STORE_VARIABLE: store if "://" in store else str(Path(store).expanduser().resolve())}
    return replace(route, environment={**environment, **route.environment})


def _check_options(ctx: click.Context, agent: str, running: str | None) -> None:
    """Refuse an option that does not exist in place of the agent's name, and options of a proxy where one runs already."""
    if agent.startswith("-") and not Path(agent).exists():
        known = [option for parameter in ctx.command.params for option in parameter.opts if option.startswith("--")]
        slip = agent.partition("=")[0]
        near = get_close_matches(slip, known, n=1, cutoff=0.6)
        raise click.NoSuchOption(slip, possibilities=near, ctx=ctx)
    of_proxy = ("port", *(SETTINGS[name].name for name in ("proxy.upstream", *_PASSED_ON)))
    if running and any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in of_proxy):
        raise ValidationError("--proxy names a proxy that runs already, with its own store, policy, upstreams, port and mode.")


def _kept_to_this_run(ctx: click.Context) -> list[str]:
    """Which file the proxy of a run takes, and that only this machine reaches it, without a token, whatever is set elsewhere.

    The variable REDLINE_TOKEN is not handed to it.
    """
    host, token = (found_setting(ctx, SETTINGS[name]) for name in ("proxy.host", "proxy.token"))
    words = ["--config", config] if (config := config_of(ctx)) else []
    words += [] if host.value == SETTINGS["proxy.host"].default else SETTINGS["proxy.host"].to_argv("127.0.0.1")
    return words + (SETTINGS["proxy.token"].to_argv("") if token.value and token.origin != "variable" else [])


def _label(folder: Path) -> str:
    """The folder's name and letters that tell folders of one name apart: a resumed session is found under the same label."""
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


@dataclass(frozen=True, slots=True)
class _StartedAgent:
    """An agent that is to be started, and where its requests go."""

    word: str
    """The agent as it was named."""
    program: str
    route: Route
    name: str
    url: str
    label: str
    hook_store: str = ""
    """Where the agent's hook, switched on for this run, keeps its accounts; empty without a hook."""

    def through_proxy(self, taken: ProxyPort | None, proxy: Sequence[str] | None, note: str) -> int:
        """Run the agent with a proxy of its own, unless one runs already: the agent's exit code."""
        kept: AbstractContextManager[str | Path]
        if taken is None or proxy is None:
            check_own_proxy(self.url)
            kept = tempfile.TemporaryDirectory(prefix="redline-run-")
        else:
            kept = started_proxy(self.name, taken, [sys.executable, "-P", "-m", "redline", *proxy])
        with kept as folder:
            return self.run_and_report(Path(folder), note)

    def run_and_report(self, folder: Path, note: str) -> int:
        """Run the agent, with its private files in the folder, and say on standard error what went through the proxy."""
        status = proxy_status(self.url)
        before = RunTotals.of(status, self.label)
        if before.store_problem:
            complain(f"the store cannot be used, so requests pass unchanged: {before.store_problem}")
        if note and not status.get("edits_subscriptions") and not before.is_dry_run:
            complain(note)
            self.say_of_hooks()
        hooks = read_hook_accounts(self.hook_store).total if self.hook_store else None
        code = run_agent(self.program, self.route, self.name, folder)
        restarts: list[str] = []
        with suppress(OSError):  # it was never started again
            restarts = (folder / RESTARTS_NAME).read_text(encoding="utf-8").splitlines()
        for how in restarts:
            complain(f"the proxy ended ({how}) and was started again; requests that were under way are not in these sums")
        try:
            status = _status_at_the_end(self.url, seconds=_RESTART_SECONDS if restarts else 0.0)
        except ExecutionError as problem:  # the agent has done its work, and its exit code says how
            complain(problem)
            complain(f"since it ended, the agent got no answers. Go on with redline run again, or without it: {self.word}")
            return code
        totals = RunTotals.of(status, self.label).since(before)
        for line in totals.lines():
            complain(line)
        if totals.is_observed_only:
            self.say_of_hooks()
        if hooks is not None:
            added = read_hook_accounts(self.hook_store).total.minus(hooks)
            tokens = f"about {added.saved_tokens:,} tokens less (estimated) in each request that holds them"
            complain(f"hooks folded {counted(added.folds, 'output')}: {tokens}")
        if left := leftover_processes(self.name):
            names = ", ".join(f"{name} ({number})" for number, name in left.items())
            complain(f"still running: {names}. Until they end, the proxy stays at {self.url}.")
        if (where := status.get("store")) and totals.requests and not totals.store_problem:
            is_default = str(where) == str(Path(str(SETTINGS["proxy.store"].default)).expanduser())
            complain(totals.look_first("" if is_default else shlex.quote(str(where))))
        return code

    def say_of_hooks(self) -> None:
        """How a run that is only observed can save: by the agent's own hook, if there is one for a run."""
        if not self.hook_store and hooked_for_run(self.word):
            complain(f"its own hook works with a subscription, too: redline run --hooks -- {Path(self.word).name}")


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
