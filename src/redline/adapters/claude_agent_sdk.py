"""Claude Agent SDK: the environment that leads its agents through a Redline proxy, a running one or one of their own."""

import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from redline.agents.claude_code.launch import ClaudeCodeAgent
from redline.agents.launching import Launch
from redline.agents.launching.leftover_processes import RUN_VARIABLE
from redline.agents.launching.runs import ProxyPort, started_proxy
from redline.errors import ExecutionError

__all__ = ["proxy_env", "redline_proxy"]

_BASE_URL = "ANTHROPIC_BASE_URL"


def proxy_env(url: str = "http://127.0.0.1:8484", *, token: str = "", label: str = "") -> dict[str, str]:
    """What to pass as `ClaudeAgentOptions(env=…)` where `redline proxy` runs already.

    `token` is the proxy's, if it has one. `label` is what requests are counted for, and keeps histories apart.
    """
    parts = [url.rstrip("/"), *(f"{kind}/{quote(name, safe='')}" for kind, name in (("t", token), ("s", label)) if name)]
    launch = Launch((), dict(os.environ), Path.home(), Path.cwd())
    route = ClaudeCodeAgent().route(launch, "/".join(parts))
    if not route.is_routed:
        raise ExecutionError(" ".join(route.notes))
    variables: dict[str, str] = json.loads(route.arguments[1])["env"]
    return variables


@contextmanager
def redline_proxy(
    store: str | os.PathLike[str] = "~/.redline",
    *,
    policy: str | os.PathLike[str] = "default",
    upstream: str = "",
    label: str = "",
    is_dry_run: bool = False,
) -> Iterator[dict[str, str]]:
    """A proxy on a free port of this machine, and what to pass as `ClaudeAgentOptions(env=…)` while the block lasts.

    `policy` is a name or a file. Requests go on to `upstream`, else to where ANTHROPIC_BASE_URL of this process points, else to
    Anthropic. Agents that are still at work when the block ends keep the proxy until they have ended, too.
    """
    port, run = ProxyPort.take(), f"claude-agent-sdk-{secrets.token_hex(4)}"
    variables = proxy_env(port.url, label=label)
    command = ["proxy", "--port", port.url.rpartition(":")[2], "--store", os.fspath(store), "--policy", os.fspath(policy)]
    if sent_on := upstream or os.environ.get(_BASE_URL, ""):
        command += ["--upstream", f"anthropic={sent_on}"]
    if is_dry_run:
        command.append("--dry-run")
    with started_proxy(run, port, [sys.executable, "-P", "-m", "redline", *command]):
        yield {**variables, RUN_VARIABLE: run}
