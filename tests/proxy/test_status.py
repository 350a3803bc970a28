"""`/redline/…`: what a running proxy says of itself."""

import json
import re
import time

import pytest

from redline.conversation.editor import Editor
from redline.proxy.accounts import Accounts, accounts_path
from redline.tokens import Estimate
from redline.transport.editing import WireEditor
from tests.cli.run import redline
from tests.proxy.support import QUESTION, proxy, upstream


def test_metrics_are_what_prometheus_reads(tmp_path):
    """Every sample line has a name, perhaps labels, and a number; each metric says its kind first."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        running.ask()
        running.ask(headers=[("x-session-id", "s")])
        running.settled(2)
        got = running.ask("GET", "/redline/metrics", None)
    text = got.body.decode()
    assert got.header("content-type")[0].startswith("text/plain; version=0.0.4")
    assert "redline_requests_total 2\n" in text
    assert 'redline_expensive_requests_total{why="first"} 1\n' in text
    assert 'redline_dear_requests_total{why="first"} 1\n' in text  # the name of before
    kinds = set(re.findall(r"^# TYPE (\S+) (?:counter|gauge)$", text, re.MULTILINE))
    for line in text.splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r'(\w+)(?:\{\w+="[^"]*"\})? -?[\d.e+-]+', line)
            assert match, line
            assert match[1] in kinds


def test_the_status_says_how_it_runs(tmp_path):
    """Mode, store, upstreams and open requests, and no unknown route falls through to a provider."""
    with upstream() as up, proxy(up.url, tmp_path, is_dry_run=True) as running:
        status = running.status()
        assert running.ask("GET", "/redline/nonsense", None).status == 404
        assert running.ask("GET", "/redline/health", None).status == 200
    assert (status["mode"], status["store_problem"], status["open_requests"]) == ("dry-run", "", 0)
    assert status["upstreams"]["anthropic"] == up.url
    assert up.seen == []


def test_status_and_metrics_tell_nothing_that_was_said_and_no_key(tmp_path):
    """R126: who can reach the port reads numbers, labels and names of sessions and models, and nothing else of anybody's."""
    body = QUESTION.replace(b"Hi", b"the plan is blue")
    keys = [("x-api-key", "sk-secret-1"), ("authorization", "Bearer sk-secret-2"), ("cookie", "login=sk-secret-3")]
    with upstream() as up, proxy(up.url, tmp_path) as running:
        running.ask(path="/s/app/v1/messages?key=sk-secret-4", body=body, headers=keys)
        running.settled(1)
        told = [running.ask("GET", f"/redline/{name}", None).body for name in ("status", "metrics", "health")]
    assert b'"app"' in told[0]
    for secret in (b"sk-secret", b"blue", b"plan", b"Hello", b"?key"):
        assert not any(secret in one for one in told)


def test_a_request_is_in_the_status_that_is_asked_for_after_it(tmp_path, monkeypatch):
    """R169: it is counted after its last byte is sent, and who asks at once, as `redline run` does, is not told less."""
    record = Accounts.record_exchange

    def record_slowly(*arguments):
        time.sleep(0.3)
        return record(*arguments)

    monkeypatch.setattr(Accounts, "record_exchange", record_slowly)
    with upstream() as up, proxy(up.url, tmp_path) as running:
        for count in (1, 2):
            assert running.ask().status == 200
            assert running.status()["totals"]["requests"] == count


@pytest.mark.parametrize("address", ["{}/store", "sqlite:///{}/chats.db"])
def test_a_running_proxy_forgets_the_name_of_a_deleted_session(tmp_path, address):
    """R139: after `redline rm` its status no longer lists the session; the sums stay, and other sessions do."""
    store = address.format(tmp_path)
    editor = WireEditor(Editor(store, counter=Estimate()))
    with upstream() as up, proxy(up.url, tmp_path, editor=editor, store=store, accounts=accounts_path(store)) as running:
        for number, name in enumerate(("secret-name", "other", "secret-name", "other")):
            body = json.loads(QUESTION) | {"messages": [{"role": "user", "content": name}]}
            wanted = json.dumps(body).encode() if number < 3 else b"{}"  # the last is in no log
            assert running.ask(body=wanted, headers=[("x-api-key", "k"), ("x-session-id", name)]).status == 200
        before = running.status()
        assert set(before["sessions"]) == {"secret-name", "other"}
        lines = map(json.loads, accounts_path(store).read_text().splitlines())
        (log,) = {line["chain"] for line in lines if line.get("session") == "secret-name"}
        done = redline("rm", f"{store}#{log}", "--yes")
        assert (done.returncode, done.stdout) == (0, "1 conversation deleted\n"), done.stderr
        after = running.status()
        assert set(after["sessions"]) == {"other"}
        assert after["totals"] == before["totals"]
        assert "secret-name" not in json.dumps(after)
        assert running.ask(headers=[("x-api-key", "k"), ("x-session-id", "third")]).status == 200
        assert running.status()["totals"]["requests"] == 5
    editor.editor.close()
    assert not [one for one in tmp_path.rglob("*") if one.is_file() and b"secret-name" in one.read_bytes()]
