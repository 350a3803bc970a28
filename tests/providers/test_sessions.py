"""Whose request it is."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.providers.api import Body
from redline.providers.sessions import namespace_of, parse_user_id, session_of, signature_of, subscription_of

NAMED = Body(b"", "anthropic", session="in the body")
NAMELESS = Body(b"", "anthropic")
JANE, JOHN = (
    base64.urlsafe_b64encode(json.dumps({"iss": "https://auth", "sub": name, "exp": 1}).encode()).decode().rstrip("=")
    for name in ("auth0|jane", "auth0|john")
)
SHOWN = ("x-api-key", "authorization", "api-key", "x-goog-api-key", "cookie", "openai-project", "x-litellm-api-key")


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


ALONE = {"x-api-key": "one"}
LOGIN, TEAM = {"anthropic-beta": "oauth-2025-04-20"}, {"chatgpt-account-id": "team"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (({"x-api-key": "one"}, "run-1", ""), ({"x-api-key": "two"}, "run-1", "")),
        (({"x-api-key": "one"}, "run-1", ""), ({"x-api-key": "one"}, "run-2", "")),
        (({"x-api-key": "one"}, "run-1", ""), ({}, "run-1", "")),
        (({}, "", "key=one"), ({}, "", "key=two")),
        (({}, "", "alt=sse&key=one"), ({}, "run-1", "key=one")),
        (({}, "", "api_key=one"), ({}, "", "")),
        (({**ALONE, "authorization": "Bearer a"}, "", ""), ({**ALONE, "authorization": "Bearer b"}, "", "")),
        (({**ALONE, "authorization": "Basic a"}, "", ""), (ALONE, "", "")),
        (({**ALONE, "helicone-auth": "Bearer a"}, "", ""), ({**ALONE, "helicone-auth": "Bearer b"}, "", "")),
        (({**ALONE, "x-portkey-api-key": "a"}, "", ""), ({**ALONE, "x-portkey-api-key": "b"}, "", "")),
        (({**ALONE, "ocp-apim-subscription-key": "a"}, "", ""), ({**ALONE, "ocp-apim-subscription-key": "b"}, "", "")),
        (({**ALONE, "openai-organization": "a"}, "", ""), ({**ALONE, "openai-organization": "b"}, "", "")),
        (({"cookie": "session=a"}, "", ""), ({"cookie": "session=b"}, "", "")),
        (({"cookie": "session=a", **ALONE}, "", ""), (ALONE, "", "")),
        (({**LOGIN, "authorization": "Bearer a"}, "", ""), ({**LOGIN, "authorization": "Bearer b"}, "", "")),
        (({"authorization": "Bearer sk-ant-oat01-a"}, "", ""), ({"authorization": "Bearer sk-ant-oat01-b"}, "", "")),
        (
            ({**TEAM, "authorization": f"Bearer e30.{JANE}.x"}, "", ""),
            ({**TEAM, "authorization": f"Bearer e30.{JOHN}.x"}, "", ""),
        ),
        (({"chatgpt-account-id": "a"}, "", ""), ({"chatgpt-account-id": "b"}, "", "")),
    ],
)
def test_whoever_pays_is_apart(first, second):
    """R132: another label or another credential, wherever it is shown, is another namespace; none of them is in its name."""
    names = [namespace_of(headers, label, b"k", query=query) for headers, label, query in (first, second)]
    assert names[0] != names[1]
    assert names == [namespace_of(headers, label, b"k", query=query) for headers, label, query in (first, second)]
    for headers, _, query in (first, second):
        for secret in (*headers.values(), query.rpartition("=")[2]):
            assert len(secret) < 3 or not any(secret in name for name in names)


def test_without_label_and_credential_there_is_one_namespace():
    """A label alone is one by itself."""
    assert namespace_of({}, "", b"k") == namespace_of({"cookie": "__cf_bm=a; AWSALB=b"}, "", b"k", query="alt=sse") == ""
    assert namespace_of({}, "a", b"k") != namespace_of({}, "b", b"k")


@pytest.mark.parametrize(
    ("headers", "account", "renewed"),
    [
        ({"chatgpt-account-id": "acc"}, "", ("Bearer one", "Bearer two")),
        ({"chatgpt-account-id": "acc"}, "", (f"Bearer e30.{JANE}.one", f"Bearer e30.{JANE}.two")),
        ({}, "", (f"Bearer e30.{JANE}.one", f"Bearer e31.{JANE}.two")),
        ({"anthropic-beta": "oauth-2025-04-20"}, "acc", ("Bearer one", "Bearer two")),
        ({"x-api-key": "k"}, "", (None, None)),
    ],
)
def test_renewed_logins_stay_in_their_namespace(headers, account, renewed):
    """The token of a login changes every few hours, and cookies of firewalls with each answer; what they belong to does not."""
    names = [
        namespace_of(
            {**headers, **({"authorization": token} if token else {}), "cookie": f"__cf_bm={number}"}, "", b"k", account=account
        )
        for number, token in enumerate(renewed)
    ]
    assert names[0] == names[1]
    assert "acc" not in names[0]


def test_two_accounts_of_one_program_are_apart():
    """R132: Claude Code names its account in the body, in one of two spellings."""
    headers = {"anthropic-beta": "oauth-2025-04-20", "authorization": "Bearer a"}
    assert namespace_of(headers, "", b"k", account="a") != namespace_of(headers, "", b"k", account="b")
    assert parse_user_id("user_0a_account_1b-2c_session_3d") == ("3d", "1b-2c")
    assert parse_user_id('{"device_id": "d", "account_uuid": "1b-2c", "session_id": "s"}') == ("s", "1b-2c")
    assert [parse_user_id(one)[1] for one in ("", "user", None, "[]", '{"account_uuid": 1}')] == [""] * 5


@given(st.dictionaries(st.sampled_from(SHOWN), st.text("ab", min_size=1, max_size=3)), st.text("ab", max_size=2))
def test_namespaces_tell_exactly_the_credentials(headers, label):
    """R132: equal where all credentials and the label are, in any order and with any other headers; different else."""
    name = namespace_of(headers, label, b"k")
    assert namespace_of({"user-agent": "x", **dict(reversed(headers.items()))}, label, b"k") == name
    for shown in SHOWN:
        assert namespace_of({**headers, shown: "c"}, label, b"k") != name
    assert namespace_of(headers, f"{label}c", b"k") != name
