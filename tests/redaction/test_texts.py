"""A text with its secrets replaced."""

import time

import pytest
from hypothesis import given

from redline.redaction import SECRETS, redact_text
from redline.redaction.texts import possible_kinds, redact_characters
from tests.effort import holds_once
from tests.redaction.examples import EXAMPLES
from tests.redaction.realistic import CASES
from tests.redaction.strategies import glued

OUTPUT = "PATH=/usr/bin\n{}\nHOME=/root\n"
HOSTILE = [
    *(
        "sk-",
        "eyJ-",
        "://a:",
        'password="',
        "password=",
        "-----BEGIN PRIVATE KEY-----\n",
        "Bearer ",
        '\\"',
        "--token ",
        "curl ",
    ),
    *("password", "Cookie: a=b;", "API_KEY=", "echo a", "a:1:a:a:", "[redacted ", "password=[redacted ", "npm_" + "a1" * 18),
    *(
        EXAMPLES["AWS key"][0],
        "$2a$",
        "a-",
        "\\",
        "?key=",
        "htpasswd -b a ",
        "token = ",
        "net user a ",
        "net use /user:",
        "/pass:",
    ),
]


def test_there_are_many_cases():
    """Of many kinds, so that the next test says something."""
    assert len(CASES) >= 150
    assert len({case.kind for case in CASES}) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_no_realistic_secret_is_left(case):
    """Neither alone nor in the output of a command (R63)."""
    assert case.secret in case.text
    assert case.secret not in redact_text(case.text)
    assert case.secret not in redact_text(OUTPUT.format(case.text))


@given(glued)
def test_texts_are_redacted_once(text):
    """What was redacted stays as it is, and no secret is left."""
    after = redact_text(text)
    assert redact_text(after) == after
    for secret in SECRETS:
        assert secret.pattern.search(after) is None


def test_the_spelling_goes_along():
    """Where characters are escapes, the escapes that stay are those that were written."""
    secret = EXAMPLES["AWS key"][0]
    written = ["\\n", *secret, "\\u0021"]
    assert redact_characters(f"\n{secret}!", written)[1] == ["\\n", *"[redacted AWS key]", "\\u0021"]


def test_a_text_without_hints_is_not_matched():
    """Which is nearly every text."""
    assert possible_kinds("nothing to see here, move along") == ()


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_is_linear(piece):
    """Whoever writes the text: five times as much of it takes about five times as long (R63)."""
    redact_text(piece)  # compiled by now

    def seconds(size):
        return _seconds(piece * (size // len(piece)))

    assert holds_once(lambda: seconds(500_000) < 25 * max(seconds(100_000), 0.01))


def test_a_chain_of_secrets_ends():
    """Each shows only once the one before it is gone; after some rounds the rest goes at once."""
    link = EXAMPLES["cloud token"][0] + EXAMPLES["AWS key"][0]
    after, written = redact_characters(link * 1000, list(link * 1000))
    assert EXAMPLES["AWS key"][0] not in after
    assert after.endswith("[redacted rest]")
    assert "".join(written) == after
    assert redact_text(after) == after


def _seconds(text):
    started = time.process_time()
    redact_text(text)
    return time.process_time() - started
