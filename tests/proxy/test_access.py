"""Who may use the proxy: the right host, the right token, and nobody else."""

import json

import pytest

from redline.conversation.editor import Editor
from redline.errors import ValidationError
from redline.policy.policy import Policy
from redline.proxy.settings import ProxySettings, Target, parse_target
from redline.servers.listening import Access, is_loopback
from redline.transport.editing import WireEditor
from tests.proxy.support import proxy, upstream

TOKEN = "a-token-of-16-letters"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/v1/messages", Target("/v1/messages")),
        ("/s/app/v1/messages", Target("/v1/messages", "app")),
        ("/t/tok/s/app/v1/messages", Target("/v1/messages", "app", "tok")),
        ("/s/app/t/tok/v1/messages", Target("/v1/messages", "app", "tok")),
        ("/s/a/s/b/v1", Target("/s/b/v1", "a")),
        ("/s/a%2Fb/v1/x%2Fy", Target("/v1/x%2Fy", "a/b")),
        ("/s/app", Target("/", "app")),
        ("/s/", Target("/s/")),
        ("/s//v1", Target("/s//v1")),
        ("*", Target("*")),
        ("/", Target("/")),
        ("//v1//messages", Target("//v1//messages")),
    ],
)
def test_labels_and_tokens_are_read_from_the_front_of_a_path(path, target):
    """Each may be there once; all behind them stays as it was written."""
    assert parse_target(path) == target


@pytest.mark.parametrize(
    ("bound", "host", "is_taken"),
    [
        ("127.0.0.1", "localhost:8484", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2:1", True),
        ("127.0.0.1", "[::1]:8484", True),
        ("127.0.0.1", "LocalHost", True),
        ("127.0.0.1", "evil.example:8484", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "192.168.1.2", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "[::1].evil.example", False),
        ("127.0.0.1", "[::1]:80.evil", False),
        ("127.0.0.1", "[::1", False),
        ("0.0.0.0", "192.168.1.2:8484", True),
        ("0.0.0.0", "evil.example", False),
        ("0.0.0.0", "proxy.example:8484", True),
        ("box.example", "box.example:8484", True),
    ],
)
def test_hosts(bound, host, is_taken):
    """A name that could have been pointed at this machine by somebody else is refused."""
    access = Access(bound, allowed_hosts=frozenset({"proxy.example"}))
    assert (access.host_problem({"host": host}) == "") == is_taken


@pytest.mark.parametrize("path", ["/v1/messages", "/redline/status", "/redline/health"])
def test_every_route_looks_at_the_host(tmp_path, path):
    """DNS rebinding reaches neither traffic nor status."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        got = running.ask("GET", path, None, host="evil.example:8484")
    assert got.status == 403
    assert "--allow-host" in json.loads(got.body)["error"]["message"]
    assert up.seen == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com"])
def test_other_machines_need_a_token(tmp_path, host):
    """The proxy does not start where others reach it and no token is asked for."""
    with pytest.raises(ValidationError, match="--token"):
        ProxySettings(str(tmp_path), host=host)
    assert ProxySettings(str(tmp_path), host=host, token=TOKEN).token == TOKEN
    assert TOKEN not in repr(ProxySettings(str(tmp_path), host=host, token=TOKEN))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_this_machine_needs_none(tmp_path, host):
    """Loopback addresses are served without a token."""
    assert is_loopback(host)
    assert ProxySettings(str(tmp_path), host=host).token == ""


@pytest.mark.parametrize("token", ["short", "with a space in it all", "with/slash/in/the/token"])
def test_tokens_are_long_and_fit_into_a_path(tmp_path, token):
    """A token that can be guessed, or that no base URL can hold, is refused."""
    with pytest.raises(ValidationError, match="token"):
        ProxySettings(str(tmp_path), token=token)


@pytest.mark.parametrize("store", ["", "nosuch://x", "sqlite://x"])
def test_a_store_that_can_be_nowhere_is_refused(store):
    """Before any worker starts: each of several would be started again and again."""
    with pytest.raises(ValidationError, match=r"Write|has"):
        ProxySettings(store)


def test_the_token_is_asked_for(tmp_path):
    """It is taken from its header or from the path, and never sent on; Prometheus may send it as a bearer's."""
    with upstream() as up, proxy(up.url, tmp_path, token=TOKEN) as running:
        refused = [running.ask().status, running.ask(headers=[("x-redline-token", TOKEN[:-1])]).status]
        refused += [running.ask(path="/t/wrong/v1/messages").status, running.ask("GET", "/redline/status", None).status]
        refused += [running.ask(headers=[("authorization", f"Bearer {TOKEN}")]).status]
        assert up.seen == []
        taken = [running.ask(headers=[("x-redline-token", TOKEN)]).status]
        taken += [running.ask(path=f"/t/{TOKEN}/s/app/v1/messages").status, running.ask("GET", "/redline/health", None).status]
        taken += [running.ask("GET", "/redline/metrics", None, [("authorization", f"Bearer {TOKEN}")]).status]
    assert refused == [401] * 5
    assert taken == [200] * 4
    assert [(seen.target, seen.header("x-redline-token")) for seen in up.seen] == [("/v1/messages", [])] * 2


PAGES = [
    {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "HTTP://["},
    {"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"},
    {"origin": "http://localhost:3000"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate"},
]
PROGRAMS = [
    {},
    {"sec-fetch-mode": "cors"},
    {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
    {"origin": "vscode-webview://0a1b2c", "sec-fetch-site": "cross-site"},
    {"origin": "app://obsidian.md", "sec-fetch-site": "cross-site"},
    {"origin": "file://"},
]


@pytest.mark.parametrize("headers", PAGES)
@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
def test_web_pages_reach_neither_the_provider_nor_the_store(tmp_path, headers, method):
    """R128: whatever a page has a browser send, in whichever way, is refused before anything is kept or goes on."""
    store = tmp_path / "chats"
    with (
        Editor(store, policy=Policy.documents()) as editor,
        upstream() as up,
        proxy(up.url, tmp_path, editor=WireEditor(editor)) as running,
    ):
        got = running.ask(method, "/v1/messages", headers=[("content-type", "text/plain"), *headers.items()])
        shown = running.ask("GET", "/redline/status", None, headers=list(headers.items()))
    assert (got.status, shown.status, up.seen) == (403, 403, [])
    assert "--allow-origin" in json.loads(got.body)["error"]["message"]
    assert not list(store.glob("*.jsonl"))
    assert "access-control-allow-origin" not in dict(got.headers)


@pytest.mark.parametrize("headers", PROGRAMS)
def test_programs_are_no_pages(tmp_path, headers):
    """R128: command-line agents, Node's fetch, webviews of editors and desktop programs are served as before."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        assert running.ask(headers=list(headers.items())).status == 200
    assert len(up.seen) == 1


@pytest.mark.parametrize(
    ("settings", "path"),
    [({"allowed_origins": ("http://LocalHost:3000",)}, "/v1/messages"), ({"token": TOKEN}, f"/t/{TOKEN}/v1/messages")],
)
def test_a_page_of_yours_is_let_in_by_name_or_by_token(tmp_path, settings, path):
    """R128: a local app in the browser works once the user has said so; its neighbours do not."""
    with upstream() as up, proxy(up.url, tmp_path, **settings) as running:
        assert running.ask(path=path, headers=[("origin", "http://localhost:3000")]).status == 200
        assert running.ask(headers=[("origin", "http://localhost:3001")]).status == 403
    assert len(up.seen) == 1


@pytest.mark.parametrize("origin", ["null", "*", "localhost:3000", "http://localhost:3000/", "http://a b"])
def test_origins_are_checked_where_they_are_said(tmp_path, origin):
    """R128: `null` and a star would let every page in."""
    with pytest.raises(ValidationError, match="is no origin"):
        ProxySettings(str(tmp_path), allowed_origins=(origin,))
