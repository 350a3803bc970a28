"""Secrets in JSON give way to a word that says what stood there."""

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.redaction import SECRETS, redact, redact_text
from redline.testing import json_values

RANDOM = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3dE5f"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA" + "x" * 48 + "\n" + "y" * 64 + "\n-----END RSA PRIVATE KEY-----"

EXAMPLES = {
    "private key": [
        PEM,
        "-----BEGIN PRIVATE KEY-----\n+" + "x" * 64 + "\n+" + "y" * 10 + "\n-----END PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b" * 70 + "\n" + "b" * 12,
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nabc=\n-----END PGP PRIVATE KEY BLOCK-----",
    ],
    "JSON web token": [f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{RANDOM}"],
    "Anthropic key": [f"sk-ant-api03-{RANDOM}-_{RANDOM}"],
    "API key": [f"sk-{RANDOM}", f"sk-proj-{RANDOM}", f"sk-or-v1-{RANDOM}", f"gsk_{RANDOM}", f"xai-{RANDOM}", f"nvapi-{RANDOM}"],
    "Google key": [f"AIza{RANDOM[:35]}", f"ya29.{RANDOM}", f"GOCSPX-{RANDOM}"],
    "AWS key": ["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
    "GitHub token": [f"ghp_{RANDOM}", f"gho_{RANDOM}", f"ghs_{RANDOM}", f"github_pat_11AB_{RANDOM}"],
    "GitLab token": [f"glpat-{RANDOM[:20]}"],
    "Slack token": ["xoxb-123456789012-abcdefGHIJ", "xapp-1-A012345-987654-abcdef"],
    "Stripe key": [f"sk_live_{RANDOM[:24]}", f"rk_test_{RANDOM[:24]}", f"whsec_{RANDOM}"],
    "Hugging Face token": [f"hf_{RANDOM[:34]}"],
    "package index token": [f"npm_{RANDOM[:36]}", f"pypi-{RANDOM}{RANDOM}"],
    "SendGrid key": [f"SG.{RANDOM[:22]}.{RANDOM}"],
    "cloud token": ["dop_v1_" + "0a" * 32, "dapi" + "0a" * 16, f"hvs.{RANDOM}"],
}
"""Secrets that are one by themselves."""

NAMED = {
    "postgres://me:hunter2@db/x": "postgres://me:[redacted password]@db/x",
    "git clone https://oauth2:s3cr3t!@host/a.git": "git clone https://oauth2:[redacted password]@host/a.git",
    "Authorization: Bearer abcdef0123456789": "Authorization: Bearer [redacted bearer token]",
    "curl -H 'authorization: Basic dXNlcjpwYXNz' x": "curl -H 'authorization: Basic [redacted password]' x",
    "DefaultEndpoints;AccountKey=" + "a1/+" * 20 + "==": "DefaultEndpoints;AccountKey=[redacted storage key]",
    "https://x.blob/y?sv=1&sig=abc%2Fdefghijklmnopqrs&se=2": "https://x.blob/y?sv=1&sig=[redacted signature]&se=2",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG": "aws_secret_access_key = [redacted secret]",
    "password: 'correct horse'": "password: '[redacted secret]'",
    '{\\"apiKey\\": \\"abcd\\"}': '{\\"apiKey\\": \\"[redacted secret]\\"}',
    "a\n  export DB_PASSWORD=letmein\nb": "a\n  export DB_PASSWORD=[redacted secret]\nb",
    "SLACK_TOKEN=abcdef": "SLACK_TOKEN=[redacted secret]",
}
"""Secrets that what stands around them gives away."""

HARMLESS = [
    "token: str = field()",
    "max_tokens=4096, input_tokens: 12345678",
    "password = getpass.getpass()",
    "password: config.db1.password",
    "privateKey: Uint8Array,",
    "API_KEY=$OTHER_KEY",
    "api_key=os.environ['KEY1']",
    "task-sk-loading-indicator-wrapper",
    "the bearer of bad news, or bearer authentication-schemes",
    "http://localhost:8080/@scope/name",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "grep -- '-----BEGIN PRIVATE KEY-----' file",
    "reference=" + "0a" * 32,
    "sha256:" + "0a" * 32,
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg" * 5,
]
"""Texts that only look like it."""

texts = st.text(st.characters(codec=None), max_size=15)
secrets = st.sampled_from([secret for examples in EXAMPLES.values() for secret in examples] + list(NAMED))
glued = st.lists(texts | secrets | st.sampled_from(HARMLESS) | st.sampled_from(["[redacted ", "]", "://", '"', "\\", "="])).map(
    "".join
)


@pytest.mark.parametrize(("name", "secret"), [(name, secret) for name, secrets in EXAMPLES.items() for secret in secrets])
def test_a_secret_is_replaced_by_its_kind(name, secret):
    """At the beginning, at the end, and between other words."""
    assert redact_text(secret) == f"[redacted {name}]"
    assert redact_text(f"see: {secret}\nand more") == f"see: [redacted {name}]\nand more"


@pytest.mark.parametrize(("text", "shown"), NAMED.items())
def test_a_secret_is_known_by_what_stands_around_it(text, shown):
    """Only the secret goes; the name and the quotes stay."""
    assert redact_text(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    """Code, counts, hashes and references of blobs above all."""
    assert redact_text(text) == text


@pytest.mark.parametrize("name", dict.fromkeys(secret.name for secret in SECRETS))
def test_every_kind_is_documented(name):
    """Each has its row."""
    page = Path(__file__).resolve().parents[1] / "docs" / "privacy.md"
    assert f"| {name} |" in page.read_text(encoding="utf-8")


def test_every_kind_has_an_example():
    """Here, so that none goes untested."""
    shown = " ".join(redact_text(text) for text in [*NAMED, *(secret for secrets in EXAMPLES.values() for secret in secrets)])
    assert {secret.name for secret in SECRETS} == set(re.findall(r"\[redacted ([^\]]+)\]", shown))


@pytest.mark.parametrize("key", ["password", "DB_PASSWORD", "apiKey", "x-api-key", "client_secret", "Authorization", "secret"])
def test_the_value_of_a_telling_key_is_replaced(key):
    """Whatever it is; the key stays, and so does the shape."""
    before = {"input": {key: "anything", "other": "anything", "n": 1}}
    after = json.loads(redact(json.dumps(before).encode()))
    assert after == {"input": {key: "[redacted secret]", "other": "anything", "n": 1}}


@pytest.mark.parametrize("value", ["", None, 5, ["a"], {"type": "string"}])
def test_other_values_of_a_telling_key_stay(value):
    """A schema names its fields too."""
    payload = json.dumps({"password": value}).encode()
    assert redact(payload) == payload


def test_the_rest_of_the_bytes_stays():
    """Spacing, the spelling of numbers and escapes, duplicate keys, what is not UTF-8."""
    before = b'{ "a" : "\\u4f60 \\/ AKIAIOSFODNN7EXAMPLE\\n\\ud83d \xff", "n": 1E2, "n": 1E2,"b":"\xe4\xbd\xa0"}'
    after = b'{ "a" : "\\u4f60 \\/ [redacted AWS key]\\n\\ud83d \xff", "n": 1E2, "n": 1E2,"b":"\xe4\xbd\xa0"}'
    assert redact(before) == after


def test_keys_are_not_changed():
    """A key is structure, even if it looks like a secret."""
    payload = b'{"AKIAIOSFODNN7EXAMPLE": 1, "AKIAIOSFODNN7EXAMPL2" : "x"}'
    assert redact(payload) == payload


def test_a_secret_behind_escapes_is_found():
    """Line ends inside of a string are escapes."""
    assert json.loads(redact(json.dumps({"key": f"a\n{PEM}\nb"}).encode())) == {"key": "a\n[redacted private key]\nb"}


@given(glued)
def test_texts_are_redacted_once(text):
    """What was redacted stays as it is, and no secret is left."""
    after = redact_text(text)
    assert redact_text(after) == after
    for secret in SECRETS:
        assert secret.pattern.search(after) is None


@given(
    st.recursive(glued | json_values(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
)
def test_json_keeps_its_shape(value):
    """Valid JSON stays valid, doing it twice changes nothing more, and only texts in which there is a secret are others."""
    payload = json.dumps(value).encode()
    after = redact(payload)
    assert redact(after) == after
    assert json.loads(after) == _by_hand(value)


@given(st.binary())
def test_nothing_breaks_it(content):
    """What is no JSON is looked at as far as it has strings."""
    assert redact(redact(content)) == redact(content)


@pytest.mark.parametrize(
    "piece", ["sk-", "eyJ-", "://a:", 'password="', "password=", "-----BEGIN PRIVATE KEY-----\n", "Bearer ", '\\"']
)
def test_the_time_is_linear(piece):
    """Whoever writes the text: 200 kB of beginnings of secrets take no longer than a moment."""
    started = time.perf_counter()
    redact(json.dumps({"content": piece * (200_000 // len(piece))}).encode())
    assert time.perf_counter() - started < 10


def _by_hand(value):
    match value:
        case str():
            return redact_text(value)
        case list():
            return [_by_hand(one) for one in value]
        case dict():
            return {name: _by_hand(one) for name, one in value.items()}
    return value
