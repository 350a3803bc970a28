"""Who may use the proxy: the right host, the right token, and nobody else."""

import json

import pytest

from redline.errors import ValidationError
from redline.listening import Access, is_loopback
from redline.proxy.access import Target, parse_target
from redline.proxy.settings import ProxySettings
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
