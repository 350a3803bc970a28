"""Whose request it is."""

import pytest

from redline.wire.body import Body
from redline.wire.sessions import namespace_of, session_of, signature_of, subscription_of

NAMED = Body(b"", "anthropic", session="in the body")
NAMELESS = Body(b"", "anthropic")


@pytest.mark.parametrize(
    ("headers", "session"),
    [
        ({"x-claude-code-session-id": "s"}, "s"),
        (
            {
                "x-claude-code-session-id": "s",
                "x-claude-code-agent-id": "a",
                "x-claude-code-parent-agent-id": "p",
            },
            "s/a",
        ),
        ({"session-id": "s", "thread-id": "t", "x-codex-window-id": "t:0"}, "t"),
        ({"session-id": "s", "thread-id": "t", "x-codex-window-id": "t:2"}, "t/2"),
        ({"session-id": "s"}, "s"),
        ({"x-session-id": "child", "x-parent-session-id": "parent"}, "child"),
        ({"x-parent-session-id": "parent"}, "in the body"),
        ({}, "in the body"),
    ],
)
def test_sessions_as_the_agents_name_them(headers, session):
    """A sub-agent by its own name, never its parent's; the body where the headers say nothing."""
    assert session_of(headers, NAMED) == session


def test_agents_that_name_no_session():
    """Gemini CLI and Cline: the history alone tells."""
    assert session_of({"x-goog-api-key": "k", "user-agent": "GeminiCLI"}, NAMELESS) == ""


def test_names_are_short():
    """A client cannot fill the store with a name."""
    assert len(session_of({"x-session-id": "x" * 10_000}, NAMELESS)) == 200


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ({"anthropic-beta": "claude-code-20250219, oauth-2025-04-20"}, "oauth-2025-04-20"),
        ({"chatgpt-account-id": "acc"}, "chatgpt-account-id"),
        ({"x-oai-attestation": "a"}, "x-oai-attestation"),
        ({"authorization": "Bearer sk-ant-oat01-x"}, "a login's token"),
        ({"authorization": "Bearer sk-proj-x", "anthropic-beta": "context-1m"}, ""),
        ({"x-api-key": "sk-ant-api03-x"}, ""),
    ],
)
def test_what_shows_a_subscription(headers, shown):
    """Betas of a login, accounts, attestations; not a key."""
    assert subscription_of(headers) == shown


def test_a_signature_in_the_billing_block_shows_a_subscription():
    """Only there: the letters alone may be in anyone's words."""
    assert subscription_of({}, b'{"system":[{"text":"x-anthropic-billing-header: a=1; cch=0a;"}]}') == "cch="
    assert subscription_of({}, b'{"system":[{"text":"x-anthropic-billing-header: a=1;"}],"x":"cch="}') == ""
    assert subscription_of({}, b'{"messages":[{"content":"cch="}]}') == ""


def test_signed_bodies():
    """Amazon signs the body with the request; a digest says what it is."""
    assert signature_of({"authorization": "AWS4-HMAC-SHA256 Credential=…"}) == "authorization"
    assert signature_of({"content-digest": "sha-256=:…:"}) == "content-digest"
    assert signature_of({"authorization": "Bearer AWS4"}) == ""


def test_namespaces_are_hashes():
    """One for each credential and key, in whichever header; the credential is not in them."""
    credentials = [{"x-api-key": "one"}, {"x-api-key": "two"}, {"authorization": "Bearer one"}, {"x-goog-api-key": "g"}]
    names = {namespace_of(headers, "", key) for headers in credentials for key in (b"a", b"b")}
    assert len(names) == 8
    assert not any(word in name for name in names for word in ("one", "two", "Bearer"))
    assert namespace_of({"x-api-key": "one"}, "", b"k" * 100) == namespace_of({"x-api-key": "one"}, "", b"k" * 100)


def test_a_label_is_a_namespace():
    """It goes before the credential; without either there is one namespace."""
    assert namespace_of({"x-api-key": "one"}, "run-1", b"k") == namespace_of({"x-api-key": "two"}, "run-1", b"k")
    assert namespace_of({}, "", b"k") == ""


def test_renewed_logins_stay_in_their_namespace():
    """The token of a login changes every hour; what it belongs to does not."""
    for headers in ({"chatgpt-account-id": "acc"}, {"anthropic-beta": "oauth-2025-04-20"}):
        first = namespace_of({**headers, "authorization": "Bearer one"}, "", b"k")
        assert first == namespace_of({**headers, "authorization": "Bearer two"}, "", b"k")
        assert "acc" not in first
