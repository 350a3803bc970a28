import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from redline.agents.launching.runs import free_port, is_dead
from redline.testing import fake_provider
from tests.cli.run import SOURCE, redline

STAND_IN = Path(__file__).resolve().parents[1] / "agents" / "launching" / "stand_in.py"
TOKEN = "a-token-of-16-letters"
PRINT = "import os, sys; print(os.environ['ANTHROPIC_BASE_URL'], *sys.argv[1:]); sys.exit(7)"


@pytest.fixture(scope="module")
def proxy():
    """A stand-in for a running proxy, which proves itself by its token."""
    url = f"http://127.0.0.1:{free_port()}"
    with subprocess.Popen([sys.executable, str(STAND_IN), url.rpartition(":")[2], TOKEN]) as server:
        deadline = time.monotonic() + 10
        while is_dead(url) and time.monotonic() < deadline:
            time.sleep(0.02)
        yield f"{url}/t/{TOKEN}"
        server.terminate()


def test_the_agent_gets_its_arguments_and_gives_its_exit_code(proxy):
    """Its output is its own; a base URL with a label of the project is in its environment."""
    done = redline("run", "--proxy", proxy, "--label", "mine", "--", sys.executable, "-c", PRINT, "--port", "-x")
    assert (done.returncode, done.stdout) == (7, f"{proxy}/s/mine --port -x\n")


def test_dashes_may_be_left_out(proxy):
    """All that follows the agent's name is the agent's."""
    done = redline("run", "--proxy", proxy, sys.executable, "-c", PRINT, "--policy", "x")
    assert (done.returncode, done.stdout.split()[1:]) == (7, ["--policy", "x"])


def test_the_label_is_that_of_the_folder(proxy, tmp_path, monkeypatch):
    """One folder has one label, run after run, so that a resumed session is found again; another of its name has another."""
    labels = []
    for folder in ("a/my project", "a/my project", "b/my project"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        labels.append(redline("run", "--proxy", proxy, sys.executable, "-c", PRINT).stdout.strip().rpartition("/")[2])
    assert labels[0] == labels[1] != labels[2]
    assert all(label.startswith("my-project-") for label in labels)


def test_a_label_may_hold_anything(proxy):
    """In an address it is one name, whatever is in it."""
    done = redline("run", "--proxy", proxy, "--label", "a/b ü?#", "--", sys.executable, "-c", PRINT)
    assert done.stdout == f"{proxy}/s/a%2Fb%20%C3%BC%3F%23\n"


def test_it_ends_with_what_went_through_the_proxy(proxy):
    """On standard error, with where to look closer."""
    ask = "import os, urllib.request as u; u.urlopen(os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages').read()"
    done = redline("run", "--proxy", proxy, "--label", "asking", "--", sys.executable, "-c", ask)
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "redline: 1 requests, 1,000 tokens sent, 90% from cache, 0 answered",
        "redline: 50 tokens struck, 0 repairs made",
        "redline: paid $2.0000 at list prices",
        "redline: saved $0.5000 net (20.0%)",
        "redline: look at redline serve '/some store': every request, what was struck, and why",
    ]


def test_standard_input_is_the_agents(proxy):
    """To the last byte."""
    done = redline("run", "--proxy", proxy, "--", sys.executable, "-c", "print(input() * 2)", stdin="ab\n")
    assert done.stdout == "abab\n"


def test_a_signal_that_ends_the_agent_is_in_the_exit_code(proxy):
    """128 and its number, as in a shell."""
    done = redline("run", "--proxy", proxy, "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert done.returncode == 128 + 9


WAITS = """
import signal, sys, time
seen = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda got, _: seen.append(got))
print("ready", flush=True)
deadline = time.monotonic() + 20
while not seen and time.monotonic() < deadline:
    time.sleep(0.02)
time.sleep(0.5)
print(*seen, flush=True)
sys.exit(5)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_handed_on(proxy, number):
    """Who ends the command ends the agent, which may still say goodbye."""
    command = [sys.executable, "-m", "redline", "run", "--proxy", proxy, "--", sys.executable, "-c", WAITS]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, start_new_session=True) as run:
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(number)
        said, _ = run.communicate(timeout=30)
    assert (run.returncode, said.split()) == (5, [str(int(number)).encode()])


def test_ctrl_c_reaches_the_agent_once(proxy):
    """The terminal sends it to both; if Redline handed it on, an agent that leaves at the second would leave."""
    ours, theirs = os.openpty()
    inside = "import os, sys; os.login_tty(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"
    command = [sys.executable, "-m", "redline", "run", "--proxy", proxy, "--", sys.executable, "-c", WAITS]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen([sys.executable, "-c", inside, str(theirs), *command], env=environment, pass_fds=[theirs]) as run:
        os.close(theirs)
        said = b""
        while b"ready\r\n" not in said:
            said += os.read(ours, 1000)
        os.write(ours, b"\x03")
        assert run.wait(timeout=30) == 5
    said = b""
    with contextlib.suppress(OSError):  # how the end of a terminal is told
        while piece := os.read(ours, 1000):
            said += piece
    os.close(ours)
    assert said.splitlines()[0].replace(b"^C", b"").split() == [str(int(signal.SIGINT)).encode()]


def test_what_is_not_installed_is_said_with_how_to_install_it(proxy):
    """With the exit code of a shell."""
    done = redline("run", "--proxy", proxy, "--", "claude")
    assert (done.returncode, "npm install -g @anthropic-ai/claude-code" in done.stderr) == (127, True)


def test_no_proxy_no_agent():
    """The agent is not started where its requests would fail."""
    done = redline("run", "--proxy", f"http://127.0.0.1:{free_port()}", "--", sys.executable, "-c", "print(1)")
    assert (done.returncode, done.stdout, "No Redline proxy answers" in done.stderr) == (2, "", True)


def test_a_running_proxy_has_its_own_settings():
    """Options for one that is started are refused, not passed over."""
    assert "--proxy" in redline("run", "--proxy", "http://x", "--dry-run", "--", "true").stderr


def test_show_starts_nothing(tmp_path):
    """Both lines can be typed in by hand."""
    done = redline(
        "run", "--show", "--dry-run", "--port", "9999", "--label", "x", "--", "codex", "exec", "a b", HOME=str(tmp_path)
    )
    assert done.stdout.splitlines() == [
        "redline proxy --port 9999 --dry-run",
        "codex -c 'openai_base_url=\"http://127.0.0.1:9999/s/x/v1\"' exec 'a b'",
    ]


def test_an_address_in_the_settings_is_where_requests_go_on_to(proxy, tmp_path):
    """Behind Redline is what was behind the agent before; --upstream says otherwise."""
    shown = redline("run", "--show", "--", "python", HOME=str(tmp_path), ANTHROPIC_BASE_URL=proxy)
    assert f"--upstream anthropic={proxy}" in shown.stdout
    assert f"requests go on to {proxy}, as the variable ANTHROPIC_BASE_URL says" in shown.stderr
    given = redline("run", "--show", "--upstream", "anthropic=http://a", "--", "python", ANTHROPIC_BASE_URL=proxy)
    assert given.stdout.count("--upstream") == 1
    assert "--upstream anthropic=http://a" in given.stdout


def test_an_address_where_nothing_listens_stops_it(tmp_path):
    """A setting that a dead proxy left is named with its place."""
    dead = f"http://127.0.0.1:{free_port()}"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": dead}}))
    done = redline("run", "--", "claude", HOME=str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path / ".claude" / "settings.json") in done.stderr
    assert "where nothing listens" in done.stderr


def test_a_program_asks_a_provider_through_a_proxy_of_its_own(tmp_path):
    """With a real proxy: the request arrives, the answer comes back, nothing is left running or lying about."""
    pytest.importorskip("redline.conversation.editor")
    ask = (
        "import json, os, urllib.request as u\n"
        "body = {'model': 'claude-sonnet-4-5', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': 'hi'}]}\n"
        "headers = {'x-api-key': 'sk-made-up', 'content-type': 'application/json'}\n"
        "url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'\n"
        "print(json.load(u.urlopen(u.Request(url, json.dumps(body).encode(), headers)))['content'][0]['text'])"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with fake_provider() as provider:
        options = ("--store", tmp_path / "store", "--upstream", f"anthropic={provider.url}")
        program = (sys.executable, "-c", ask)
        done = redline("run", *options, "--", *program, HOME=str(tmp_path), TMPDIR=str(temporary))
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert "redline: 1 requests" in done.stderr
    assert provider.statuses == [200]
    assert list(temporary.iterdir()) == []


def test_a_token_in_the_environment_is_for_another_proxy(tmp_path):
    """The proxy of a run asks for none: the agent would not know it."""
    done = redline("run", "--", sys.executable, "-c", "", HOME=str(tmp_path), REDLINE_TOKEN="a-token-of-16-letters")
    assert done.returncode == 0, done.stderr


def test_a_proxy_that_is_gone_at_the_end_takes_no_exit_code_away():
    """The agent's own is what counts; that there are no last lines is said."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen([sys.executable, str(STAND_IN), str(port), TOKEN]) as server:
        deadline = time.monotonic() + 10
        while is_dead(url) and time.monotonic() < deadline:
            time.sleep(0.02)
        end = f"import os, sys; os.kill({server.pid}, 9); sys.exit(7)"
        done = redline("run", "--proxy", f"{url}/t/{TOKEN}", "--", sys.executable, "-c", end)
    assert done.returncode == 7, done.stderr
    assert "No Redline proxy answers" in done.stderr


class _Fake(BaseHTTPRequestHandler):
    """Somebody else's program, which says of itself what a proxy says."""

    def do_GET(self):
        """Any JSON, with a proof of its own making."""
        self.server.got.append((self.path, self.headers.get("x-api-key")))
        said = json.dumps({"mode": "edit", "store": "/x", "projects": {}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(said)))
        self.send_header("x-redline-proof", "0" * 64)
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_GET  # noqa: N815 - as the server calls it

    def log_message(self, *_):
        """Nothing."""


@pytest.mark.parametrize("option", ["--port", "--proxy"])
def test_somebody_else_at_the_port_gets_nothing(tmp_path, option):
    """R127: where another program listens and answers as a proxy would, the agent is not started, and no key is sent there."""
    ask = "import os, urllib.request as u; u.urlopen(u.Request(os.environ['ANTHROPIC_BASE_URL'], headers={'x-api-key': 'k'}))"
    with ThreadingHTTPServer(("127.0.0.1", 0), _Fake) as fake:
        fake.got = []
        Thread(target=fake.serve_forever, daemon=True).start()
        where = fake.server_port if option == "--port" else f"http://127.0.0.1:{fake.server_port}"
        done = redline("run", option, where, "--", sys.executable, "-c", ask, HOME=tmp_path)
        fake.shutdown()
    assert done.returncode == 2, done.stderr
    assert [key for _, key in fake.got if key] == []
    assert ("cannot be used" if option == "--port" else "cannot prove") in done.stderr


def test_a_running_proxy_of_this_user_is_known(tmp_path):
    """R127: `redline proxy` and `redline run --proxy` of one user share a key that nobody else can read."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HOME": str(tmp_path)}
    environment.pop("XDG_STATE_HOME", None)
    command = [sys.executable, "-m", "redline", "proxy", "--port", "0", "--store", str(tmp_path / "store")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as proxy:
        url = proxy.stdout.readline().split()[3]
        done = [
            redline("run", "--proxy", url, "--", sys.executable, "-c", PRINT, HOME=home) for home in (tmp_path, tmp_path / "b")
        ]
        proxy.terminate()
    assert [one.returncode for one in done] == [7, 2], done


# --- said when it matters

ASK = """
import json, os, sys, time, urllib.error, urllib.request as u
def ask(**headers):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"x-api-key": "sk-made-up", "content-type": "application/json", **headers}
    request = u.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), headers)
    try:
        with u.urlopen(request, timeout=20) as answer:
            answer.read()  # who leaves with the head alone is a client that went before its answer
            return answer.status
    except urllib.error.HTTPError as problem:
        return problem.code
    except OSError:
        return 0
"""


def run_asking(tmp_path, script, *options, store="store", upstream=None):
    """A run of a program that asks a model, with a real proxy before a provider on this machine."""
    with fake_provider() as provider:
        upstream = upstream or provider.url
        given = ("--store", tmp_path / store, "--upstream", f"anthropic={upstream}", *options)
        done = redline("run", *given, "--", sys.executable, "-c", ASK + script, HOME=str(tmp_path), TMPDIR=str(tmp_path))
    return done, provider


@pytest.mark.parametrize("kind", ["a file", "a full disk", "not the user's"])
def test_a_store_that_cannot_be_written_is_told_at_start_and_end(tmp_path, kind):
    """R169: one line with the reason before the agent starts and one after it ended; its requests pass all the same."""
    place = tmp_path / "store"
    if kind == "a file":
        place.write_text("no folder")
    elif kind == "a full disk":
        if os.geteuid() != 0:
            pytest.skip("a file system of its own takes root")
        place.mkdir()
        assert os.system(f"mount -t tmpfs -o size=64k none {place}") == 0
        with (place / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while filler.write(b"x" * 4096):
                pass
    else:
        if os.geteuid() == 0:
            pytest.skip("root may write everywhere")
        place.mkdir(mode=0o500)
    try:
        done, provider = run_asking(tmp_path, "print('begin', ask(), ask())")
    finally:
        if kind == "a full disk":
            assert os.system(f"umount {place}") == 0
    assert (done.returncode, done.stdout, provider.statuses) == (0, "begin 200 200\n", [200, 200])
    said = [line for line in done.stderr.splitlines() if "the store cannot be used" in line]
    assert len(said) == 2, done.stderr
    assert all(str(place) in line for line in said)
    assert "redline serve" not in done.stderr


def test_a_provider_that_does_not_answer_is_told_at_the_end(tmp_path):
    """R169: with the reason, and without a word of savings."""
    done, _ = run_asking(tmp_path, "print(ask())", upstream=f"http://127.0.0.1:{free_port()}")
    assert done.stdout == "502\n"
    assert "1 request was not answered: nothing listens at 127.0.0.1" in done.stderr
    assert "saved" not in done.stderr


def test_a_subscription_is_told_at_the_end(tmp_path):
    """R169: requests that are only observed are counted with the reason and the way to change it."""
    headers = "**{'anthropic-beta': 'oauth-2025-04-20', 'authorization': 'Bearer sk-ant-oat-x'}"
    done, _ = run_asking(tmp_path, f"print(ask({headers}), ask({headers}))")
    assert "2 requests were only observed: a subscription pays for them. --edit-subscriptions" in done.stderr
    assert "saved" not in done.stderr
    assert "its own hook" not in done.stderr  # a program with an SDK has none
    done, _ = run_asking(tmp_path, "print(ask())")
    assert "nothing was struck: nothing in these requests was old or superseded enough" in done.stderr
    assert "$0.0000" not in done.stderr


def test_a_login_is_told_at_the_start(tmp_path):
    """R169: an agent that is logged in with a subscription is told so before it starts, unless a key pays or it is edited."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": {"accessToken": "x"}}))
    agent = tmp_path / "claude"
    agent.write_text("#!/bin/sh\nexit 0\n")
    agent.chmod(0o700)
    found = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:/bin:/usr/bin", "TMPDIR": str(tmp_path)}
    store = ("--store", tmp_path / "store")
    words = "logged in with a subscription: its requests are only observed"
    assert words in redline("run", *store, "--", "claude", **found).stderr
    assert words not in redline("run", *store, "--edit-subscriptions", "--", "claude", **found).stderr
    assert words not in redline("run", *store, "--", "claude", **found, ANTHROPIC_API_KEY="sk-made-up").stderr
    hint = "its own hook works with a subscription, too: redline run --hooks -- claude"
    assert hint in redline("run", *store, "--", "claude", **found).stderr
    hooked = redline("run", *store, "--hooks", "--", "claude", **found).stderr
    assert words in hooked
    assert hint not in hooked
    assert "hooks folded 0 outputs" in hooked


def test_hooks_of_a_run_are_a_flag_or_a_variable(tmp_path):
    """Each agent's own; the user's settings in the same variable stay, and agents without one are told so."""
    found = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-made-up"}
    mine = json.dumps({"theme": "mine", "plugin": ["other"]})
    shown = redline("run", "--hooks", "--show", "--", "opencode", OPENCODE_CONFIG_CONTENT=mine, **found)
    assert shown.returncode == 0, shown.stderr
    words = shlex.split(shown.stdout.splitlines()[-1])
    given = dict(word.split("=", 1) for word in words if "=" in word)
    settings = json.loads(given["OPENCODE_CONFIG_CONTENT"])
    assert settings["theme"] == "mine"
    assert settings["plugin"][0] == "other"
    assert Path(settings["plugin"][1].removeprefix("file://")).read_text().startswith("// Redline's hook for opencode")
    assert json.loads(given["REDLINE_HOOK"])[-2:] == ["--agent", "opencode"]
    shown = redline("run", "--hooks", "--show", "--", "pi", "-p", "x", **found).stdout.splitlines()[-1]
    assert re.search(r" pi -e \S+/pi\.js -p x$", shown)
    for agent, says in (("codex", "codex has no hook"), ("copilot", "takes hooks from files alone"), ("python3", "no hook")):
        done = redline("run", "--hooks", "--show", "--", agent, **found)
        assert done.returncode == 2
        assert says in done.stderr
        assert "Leave --hooks out" in done.stderr


PROXIES = """
def proxies():
    port = os.environ["ANTHROPIC_BASE_URL"].split("/")[2].rpartition(":")[2].encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{name}/cmdline", "rb").read().split(b"\\0")
        except OSError:
            continue
        supervisor = b"redline.agents.launching.proxy_supervisor"
        if b"proxy" in words and port in words and supervisor not in words and b"run" not in words:
            yield int(name)
"""
KILL = (
    PROXIES
    + """
print(ask(), flush=True)
status = os.environ["ANTHROPIC_BASE_URL"].partition("/s/")[0] + "/redline/status"
while not json.load(u.urlopen(status))["totals"]["requests"]:  # it is counted after it is answered
    time.sleep(0.02)
for number in proxies():
    os.kill(number, 9)
deadline = time.monotonic() + 30
while ask() != 200 and time.monotonic() < deadline:
    time.sleep(0.1)
print(ask(), flush=True)
"""
)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the proxy is found in /proc")
def test_a_proxy_that_was_killed_is_started_again(tmp_path):
    """R169: at the same address, so that the agent goes on; the last lines say so, and nothing is left running."""
    done, provider = run_asking(tmp_path, KILL)
    assert (done.returncode, done.stdout) == (0, "200\n200\n"), done.stderr
    assert "the proxy ended (signal 9) and was started again" in done.stderr
    assert "redline: 3 requests" in done.stderr
    assert provider.statuses == [200] * 3
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("redline-run-")]


KILL_TWICE = (
    PROXIES
    + """
import http.client, threading
class Asking(threading.Thread):
    def run(self):
        self.began, self.outcome = time.monotonic(), "waits"
        where, _, path = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(where, timeout=60)
        try:
            connection.connect()
            body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
            connection.request("POST", f"/{path}/v1/messages", body, {"x-api-key": "sk-made-up"})
            self.outcome = connection.getresponse().status
        except (OSError, http.client.HTTPException) as problem:
            self.outcome = type(problem).__name__
        self.ended = time.monotonic()
asking, kills = [], []
def ask_on(count):
    for _ in range(count):
        asking.append(Asking())
        asking[-1].start()
        time.sleep(0.2)
def kill(numbers):
    kills.append(time.monotonic())
    for number in numbers:
        os.kill(number, 9)
ask_on(5)
for one in asking:
    one.join()
kill(first := set(proxies()))
ask_on(1)
while not (second := set(proxies()) - first):
    ask_on(1)
kill(second)  # while it starts, and connections wait for it
ask_on(10)
for one in asking:
    one.join()
told = [(one.outcome, any(one.began <= kill <= one.ended for kill in kills)) for one in asking]
print(json.dumps({"killed": [len(first), len(second)], "told": told}))
"""
)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the proxy is found in /proc")
def test_between_death_and_restart_connections_wait(tmp_path):
    """R127, R169: the run holds the port while proxies die, so that an agent which asks every 200 ms is never refused, and
    loses no more than what a proxy was answering when it was killed."""
    done, _ = run_asking(tmp_path, KILL_TWICE)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["killed"] == [1, 1]
    assert {outcome for outcome, was_under_way in seen["told"] if not was_under_way} == {200}
    assert [200, True] in seen["told"]  # it waited for a proxy, saw that one killed, and waited for the next
    assert {outcome for outcome, _ in seen["told"]} <= {200, "RemoteDisconnected", "ConnectionResetError"}
    assert done.stderr.count("the proxy ended (signal 9) and was started again") == 2


def test_an_option_that_there_is_not_is_said_to_be_none():
    """A slip before the agent's name is no agent, and the option that was meant is named (R176)."""
    done = redline("run", "--dryrun", "--", "claude")
    assert (done.returncode, "No such option" in done.stderr, "--dry-run" in done.stderr) == (2, True, True)
    assert "not on the PATH" not in done.stderr
