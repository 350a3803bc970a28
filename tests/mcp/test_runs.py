"""Agents behind `redline run` that ask `redline mcp`: each is told of its own session, with nothing set up but the server."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from redline.errors import ExecutionError, ValidationError
from redline.mcp import RunSession
from redline.proxy.exchange import OWN_TOOLS
from redline.store import Store
from tests.cli.run import redline
from tests.mcp.test_server import ask as ask_server
from tests.mcp.test_server import fill_two

AGENT = Path(__file__).with_name("run_agent.py")


class _Provider(BaseHTTPRequestHandler):
    """A model that asks for nothing but its strikes."""

    def do_POST(self):
        """A call of the tool, under the name that Claude Code gives it."""
        self.rfile.read(int(self.headers["content-length"]))
        call = {"type": "tool_use", "id": "toolu_1", "name": "mcp__redline__list_strikes", "input": {}}
        usage = {"input_tokens": 10, "output_tokens": 1}
        answer = {"id": "m", "type": "message", "role": "assistant", "content": [call], "model": "x", "usage": usage}
        said = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture
def provider():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Provider) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes above this one are looked for in /proc")
@pytest.mark.parametrize("sessions", [("", ""), ("a", "b")])
def test_two_agents_in_one_folder_see_their_own_sessions(tmp_path, provider, sessions):
    """R125: one key, one label, begun alike, at the same time: what A recalls is A's, and what A undoes is not B's."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    options = ("--store", tmp_path / "chats", "--policy", "documents", "--label", "x", "--upstream", f"anthropic={provider}")

    def run(owner, session):
        command = ("run", *options, "--", sys.executable, AGENT, owner, session, tmp_path)
        return redline(*command, HOME=tmp_path, PATH=os.environ["PATH"])

    with ThreadPoolExecutor(2) as pool:
        done = dict(zip("AB", pool.map(run, "AB", sessions), strict=True))
    assert [one.returncode for one in done.values()] == [0, 0], done
    told = {owner: json.loads(one.stdout) for owner, one in done.items()}
    with Store(tmp_path / "chats") as store:
        assert len(list(store.names())) == 2
    for owner in "AB":
        assert len(told[owner]["strikes"]) > 2, told[owner]
        assert all(text.startswith(f"{owner} ") for text in told[owner]["texts"])
        assert {row["state"] for row in told[owner]["strikes"]} == {"struck"}
    assert "is undone" in told["A"]["undone"]


def test_a_run_names_its_sessions_where_it_cannot_tell_them_apart(tmp_path):
    """R125: two sessions of one run whose last answers both call the tool; one that is named must be of the run."""
    address, requests = fill_two(tmp_path / "chats", ("a", "b"))
    log, accounts = Path(address).stem, tmp_path / "accounts"

    def write(**asks):
        """The accounts of the last requests of both sessions, which an older version kept in one log."""
        records = {name: request.record for name, request in zip("ab", requests, strict=True)}
        lines = [
            {"at": 1, "status": 200, "chain": log, "run": "run-1", "record": records[name], "asks": asks[name]} for name in "ab"
        ]
        accounts.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    with Store(tmp_path / "chats") as store:
        binding = RunSession(store, "run-1", accounts)
        with pytest.raises(ExecutionError, match="No request of this run"):
            binding.find("", "recall")
        write(a=["recall"], b=["recall"])
        with pytest.raises(ExecutionError, match="several sessions, and which one asks cannot be told"):
            binding.find("", "recall")
        assert binding.find(f"{log}:a", "recall").name == f"{log}:a"
        with pytest.raises(ValidationError, match="There is no session 'other' in this run"):
            binding.find("other", "recall")
        write(a=[], b=["recall"])
        assert binding.find("", "recall").name == f"{log}:b"
        with pytest.raises(ExecutionError, match="No request of this run"):
            RunSession(store, "run-2", accounts).find("", "recall")


def test_the_accounts_know_the_tools_by_name():
    """R125: what the proxy looks for in answers is what the server calls its tools."""

    async def names(client):
        return {tool.name for tool in (await client.list_tools()).tools}

    assert ask_server(["--store", "."], names) == set(OWN_TOOLS)
