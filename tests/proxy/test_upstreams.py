"""Where requests go."""

import pytest

from redline.errors import ValidationError
from redline.providers.apis import provider_of
from redline.proxy.settings import UPSTREAMS, Upstream, parse_upstreams
from tests.proxy.support import QUESTION, proxy, upstream


def test_the_providers_own_by_default():
    """Nothing given: the providers' own addresses; one given: only that one is another."""
    assert {name: one.origin for name, one in parse_upstreams(()).items()} == UPSTREAMS
    chosen = parse_upstreams(["openai=https://host:8443/base/v1/"])
    assert (chosen["openai"].origin, chosen["openai"].base) == ("https://host:8443", "/base/v1")
    assert chosen["anthropic"].origin == UPSTREAMS["anthropic"]


@pytest.mark.parametrize(
    "text",
    [
        "openai",
        "other=https://x",
        "openai=ftp://x",
        "openai=https://",
        "openai=https://k@x",
        "openai=https://x?a=b",
        "openai=x:y",
    ],
)
def test_what_is_no_upstream_is_refused(text):
    """The text says what to write, and repeats no credential."""
    with pytest.raises(ValidationError) as refusal:
        parse_upstreams([text])
    assert "k@" not in str(refusal.value)


@pytest.mark.parametrize(
    ("provider", "base", "path", "expected"),
    [
        ("anthropic", "", "/v1/messages", "/v1/messages"),
        ("anthropic", "", "/messages", "/v1/messages"),
        ("anthropic", "", "/api/hello", "/api/hello"),
        ("openai", "", "/responses", "/v1/responses"),
        ("openai", "/api/v1", "/v1/chat/completions", "/api/v1/chat/completions"),
        ("openai", "/api/v1", "/chat/completions", "/api/v1/chat/completions"),
        ("openai", "/backend-api/codex", "/responses", "/backend-api/codex/responses"),
        ("openai", "/base", "/v1/responses", "/base/v1/responses"),
        ("gemini", "", "/models/m:generateContent", "/v1beta/models/m:generateContent"),
        ("gemini", "", "/v1/models/m:generateContent", "/v1/models/m:generateContent"),
        ("gemini", "/v1beta", "/v1beta/models/m:generateContent", "/v1beta/models/m:generateContent"),
        ("openai", "", "//odd//path", "//odd//path"),
    ],
)
def test_paths_get_one_version_and_the_base(provider, base, path, expected):
    """Agents differ in whether they write the version; providers do not."""
    assert Upstream(provider, "https://h", base).url(path, "a=%20") == f"https://h{expected}?a=%20"


@pytest.mark.parametrize(
    ("path", "headers", "provider"),
    [
        ("/x", {"anthropic-version": "1"}, "anthropic"),
        ("/x", {"x-api-key": "k"}, "anthropic"),
        ("/api/hello", {}, "anthropic"),
        ("/x", {"x-goog-api-key": "k"}, "gemini"),
        ("/v1beta/models", {}, "gemini"),
        ("/v1/models", {"authorization": "Bearer k"}, "openai"),
    ],
)
def test_what_names_no_api_goes_by_its_headers(path, headers, provider):
    """The credentials' header tells whose request it is; the rest is OpenAI's and its many likenesses'."""
    assert provider_of(path, headers).name == provider


def test_the_environments_proxy_is_used(monkeypatch):
    """HTTPS_PROXY is the way to a provider, but not to this machine, nor to what NO_PROXY names."""
    monkeypatch.setenv("HTTPS_PROXY", "http://corporate:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://corporate:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    chosen = parse_upstreams(["openai=https://inside.example", "gemini=http://127.0.0.1:9"])
    assert {name: one.proxy for name, one in chosen.items()} == {
        "anthropic": "http://corporate:3128",
        "openai": None,
        "gemini": None,
    }


def test_requests_go_through_the_environments_proxy(tmp_path, monkeypatch):
    """The way is the one that HTTP_PROXY names; nothing of a .netrc is sent."""
    (tmp_path / ".netrc").write_text("machine provider.invalid login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with upstream() as on_the_way:
        monkeypatch.setenv("HTTP_PROXY", on_the_way.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with proxy("http://provider.invalid", tmp_path) as running:
            assert running.ask().status == 200
    (seen,) = on_the_way.seen
    assert seen.target == "http://provider.invalid/v1/messages"
    assert seen.body == QUESTION
    assert seen.header("authorization") == []
