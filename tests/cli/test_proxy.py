"""`redline proxy` as a user starts it, before a provider on this machine."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from redline.testing import fake_provider
from tests.cli.run import SOURCE, redline

PROVIDERS = ("anthropic", "openai", "gemini")


@contextlib.contextmanager
def started(provider, store, *options, stop=signal.SIGTERM, cwd=None):
    """A proxy in a process of its own, ended by `stop`; its exit code must be 0, unless it is killed."""
    upstreams = [option for name in PROVIDERS for option in ("--upstream", f"{name}={provider.url}")]
    process = subprocess.Popen(
        [sys.executable, "-m", "redline", "proxy", "--port", "0", "--store", store, "--deadline", "5000", *upstreams, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "80"},
    )
    try:
        process.introduction = [process.stdout.readline().rstrip("\n") for _ in range(10)]
        process.url = process.introduction[0].split()[3]
        for _ in range(200):
            with contextlib.suppress(OSError):
                ask(process.url, "/redline/health")
                break
            time.sleep(0.05)
        yield process
        process.send_signal(stop)
        assert process.wait(20) == (0 if stop != signal.SIGKILL else -signal.SIGKILL)
        process.log = process.stderr.read()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


def ask(url, path, body=None, **headers):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url + path, data, {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def reads(count):
    """A history in which one file is read again and again."""
    messages = [{"role": "user", "content": "go"}]
    for number in range(count):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": "/p/a.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"line {number}\n" * 200}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return {"model": "claude-opus-4-6", "max_tokens": 9, "messages": messages}


def send(url, count):
    return ask(url, "/s/app/v1/messages", reads(count), **{"x-api-key": "k", "x-claude-code-session-id": "chat"})


def settled(url, requests):
    for _ in range(200):
        if (status := ask(url, "/redline/status"))["totals"]["requests"] >= requests:
            return status
        time.sleep(0.02)
    raise AssertionError(status)


def test_ten_lines_say_what_a_stranger_needs(tmp_path):
    """Address, store, upstreams and a line to paste for each agent, at 80 columns; SIGINT ends it cleanly."""
    with fake_provider() as provider, started(provider, "store", "--dry-run", stop=signal.SIGINT, cwd=tmp_path) as process:
        assert "dry run" in process.introduction[0]
        assert max(map(len, process.introduction)) <= 80
        assert any(line.strip() == f"ANTHROPIC_BASE_URL={process.url} claude" for line in process.introduction)
    assert process.log == ""


def test_outdated_reads_are_struck_and_reported(tmp_path):
    """What arrives is shorter and legal, and the status says by how much, for the project and the session."""
    with fake_provider() as provider, started(provider, tmp_path / "store", "--policy", "documents") as process:
        for count in range(1, 9):
            send(process.url, count)
        status = settled(process.url, 8)
    assert provider.statuses == [200] * 8
    assert "line 0" not in json.dumps(provider.exchanges[-1].body)
    assert status["projects"]["app"]["struck_tokens"] == status["sessions"]["chat"]["struck_tokens"] > 1000
    assert status["totals"]["saved_usd"] > 0
    assert process.log.count("POST /v1/messages 200 anthropic") == 8


def test_a_dry_run_changes_nothing_and_says_what_it_would_save(tmp_path):
    """Every request arrives as it was sent; what would have been struck is reported apart."""
    options = ("--policy", "documents", "--dry-run")
    with fake_provider() as provider, started(provider, tmp_path / "store", *options) as process:
        for count in range(1, 9):
            send(process.url, count)
        totals = settled(process.url, 8)["totals"]
    assert [exchange.body for exchange in provider.exchanges] == [reads(count) for count in range(1, 9)]
    assert (totals["struck_tokens"], totals["saved_usd"]) == (0, 0)
    assert totals["would_strike_tokens"] > 1000
    assert totals["would_save_usd"] > 0


def test_a_proxy_that_was_killed_sends_the_same_bytes(tmp_path):
    """Killed in mid-session and started again, it sends what it sent before."""
    options = ("--policy", "documents")
    with fake_provider() as provider:
        with started(provider, tmp_path / "store", *options, stop=signal.SIGKILL) as process:
            for count in range(1, 9):
                send(process.url, count)
            settled(process.url, 8)
        with started(provider, tmp_path / "store", *options) as process:
            send(process.url, 8)
            send(process.url, 9)
            assert settled(process.url, 10)["run"]["requests"] == 2
    *_, before, again, longer = [exchange.body["messages"] for exchange in provider.exchanges]
    assert again == before
    assert "line 1\\n" not in json.dumps(longer)


def test_several_workers_share_the_work(tmp_path):
    """Requests of one session go to either worker, are struck the same, and are all in either's report."""
    options = ("--policy", "documents", "--workers", "2")
    with fake_provider() as provider, started(provider, tmp_path / "store", *options) as process:
        for count in range(1, 13):
            send(process.url, count)
        assert settled(process.url, 12)["totals"]["struck_tokens"] > 1000
    assert provider.statuses == [200] * 12
    sent = [exchange.body["messages"] for exchange in provider.exchanges]
    for earlier, later in itertools.pairwise(sent):
        struck = [place for place, message in enumerate(earlier) if "line" not in json.dumps(message)]
        assert [later[place] for place in struck] == [earlier[place] for place in struck]


def test_machines_share_a_database(tmp_path, monkeypatch, postgres):
    """Two proxies on one PostgreSQL, each with a worker or two, take turns in a session; one is killed and started again."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with fake_provider() as provider, started(provider, postgres, "--policy", "documents", "--workers", "2") as one:
        with started(provider, postgres, "--policy", "documents", stop=signal.SIGKILL) as two:
            for count in range(1, 9):
                send((one, two)[count % 2].url, count)
        with started(provider, postgres, "--policy", "documents") as two:
            for count in range(9, 13):
                send((one, two)[count % 2].url, count)
    assert provider.statuses == [200] * 12
    sent = [exchange.body["messages"] for exchange in provider.exchanges]
    gone = [sum(f"line {number}\\n" not in json.dumps(one) for number in range(place)) for place, one in enumerate(sent, 1)]
    assert gone == [0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7]
    for earlier, later in itertools.pairwise(sent):
        places = [place for place, message in enumerate(earlier) if "line" not in json.dumps(message)]
        assert [later[place] for place in places] == [earlier[place] for place in places]


@pytest.mark.parametrize("store", ["postgresql://nobody@127.0.0.1:1/none", "a-file"])
def test_a_store_that_cannot_be_used_stops_no_request(tmp_path, monkeypatch, store):
    """Everything passes as it came; the status says why, and so does the log, once."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a-file").write_text("no folder")
    with fake_provider() as provider, started(provider, store, "--policy", "documents", cwd=tmp_path) as process:
        for count in range(6, 9):
            send(process.url, count)
        status = settled(process.url, 3)
    assert [exchange.body for exchange in provider.exchanges] == [reads(count) for count in range(6, 9)]
    assert status["store_problem"]
    assert process.log.count("pass unchanged") == 1
    assert process.log.count("could not be edited;") <= 1
    assert "Traceback" not in process.log


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "--token"),
        (("--upstream", "mistral=https://x"), "no upstream"),
        (("--policy", "nonsense"), "no policy named"),
        (("--workers", "0"), "--workers"),
        (("--deadline", "0"), "--deadline"),
    ],
)
def test_what_cannot_be_served_is_said(tmp_path, options, words):
    """One line, exit code 2, and nothing was started."""
    done = redline("proxy", "--port", "0", "--store", tmp_path / "store", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_taken_port_is_said(tmp_path):
    """The line says what to do."""
    with fake_provider() as provider:
        port = provider.url.rpartition(":")[2]
        done = redline("proxy", "--port", port, "--store", tmp_path / "store")
    assert done.returncode == 2
    assert f"Port {port}" in done.stderr
    assert "--port" in done.stderr


OFFLOADING = """
rules = [{ name = "offload_results", min_chars = 1000 }, { name = "historical_reads", keep_recent = 2 }]
schedule = "eager"
words = { language = "en" }
"""


def test_offloading_without_blobs_is_an_error_at_the_start(tmp_path):
    """R161: one line that names the rule and the flag, from the proxy and from a run, and nothing was started."""
    (tmp_path / "policy.toml").write_text(OFFLOADING)
    options = ("--store", tmp_path / "store", "--policy", tmp_path / "policy.toml")
    for done in (redline("proxy", "--port", "0", *options), redline("run", *options, "--", sys.executable, "-c", "print(1)")):
        assert (done.returncode, done.stdout) == (2, "")
        assert "offload_results" in done.stderr
        assert "--blobs ADDRESS" in done.stderr
        assert done.stderr.count("\n") == 1


def test_offloaded_results_are_in_the_blobs(tmp_path):
    """R161: with --blobs, what is moved away can be read back by the reference in its stub."""
    (tmp_path / "policy.toml").write_text(OFFLOADING)
    options = ("--policy", tmp_path / "policy.toml", "--blobs", tmp_path / "blobs")
    with fake_provider() as provider, started(provider, tmp_path / "store", *options) as process:
        send(process.url, 1)
        settled(process.url, 1)
    (result,) = provider.exchanges[0].body["messages"][2]["content"]
    (file,) = (tmp_path / "blobs").iterdir()
    assert file.name in result["content"]
    assert file.read_text() == "line 0\n" * 200


def test_a_bucket_that_is_down_holds_nobody_up(tmp_path, monkeypatch):
    """R161: while it does not answer, results stay, what other rules strike goes, and no request waits for the bucket."""
    (tmp_path / "policy.toml").write_text(OFFLOADING.replace("1000", "1500"))  # the first ten results are shorter
    with socket.create_server(("127.0.0.1", 0)) as silent, fake_provider() as provider:
        bucket = {"ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}", "ALLOW_HTTP": "true", "REGION": "us-east-1"}
        for name, value in {**bucket, "ACCESS_KEY_ID": "any", "SECRET_ACCESS_KEY": "any"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        options = ("--policy", tmp_path / "policy.toml", "--blobs", "s3://bucket/x", "--deadline", "10000")
        with started(provider, tmp_path / "store", *options) as process:
            send(process.url, 11)
            began = time.monotonic()
            for count in range(12, 24):
                send(process.url, count)
            assert time.monotonic() - began < 10  # at two seconds each they would take 24
            status = settled(process.url, 13)
    assert provider.statuses == [200] * 13
    assert status["store_problem"] == ""
    assert status["totals"]["struck_tokens"] > 1000
    last = json.dumps(provider.exchanges[-1].body)
    assert "line 0\\n" not in last
    assert "line 22\\n" in last


def test_the_status_says_where_whole_results_are(tmp_path):
    """With the store, or in a folder of the user's; or nowhere, and why."""
    told = {}
    for options in ((), ("--whole-in", tmp_path / "mine"), ("--whole-in", "off")):
        with fake_provider() as provider, started(provider, tmp_path / "store", *options) as process:
            told[options[1:]] = ask(process.url, "/redline/status")["whole_in"]
    assert list(told.values()) == [
        str(tmp_path / "store" / "whole"),
        str(tmp_path / "mine"),
        "nowhere: it is switched off (--whole-in off)",
    ]


@pytest.mark.parametrize("option", ["--store", "--whole-in"])
def test_nobodys_home_is_an_error(option):
    """It is no bug of Redline's."""
    done = redline("proxy", "--port", "0", option, "~nobody-at-all/here")
    assert (done.returncode, "nobody-at-all" in done.stderr) == (2, True), done.stderr
