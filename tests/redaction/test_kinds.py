"""Kinds of secret: told by their first characters, their shape, or what is around them."""

from pathlib import Path

import pytest

from redline.redaction import redact_text
from redline.redaction.kinds import MARK, PLACES, TOKENS, Secret, secret_kind
from tests.redaction.examples import EXAMPLES


def test_a_kind_says_what_is_written_in_its_place():
    """Between brackets, and it begins with a word that no secret holds."""
    kind = secret_kind("ticket", r"T-(?P<secret>[0-9]+)", "t-")
    assert kind == Secret("ticket", r"T-(?P<secret>[0-9]+)", ("t-",))
    assert kind.marker == f"{MARK}ticket]" == "[redacted ticket]"


def test_the_pattern_is_compiled_once():
    """Not at import, because nearly no run needs them all."""
    kind = secret_kind("ticket", r"T-(?P<secret>[0-9]+)", "t-")
    assert kind.pattern is secret_kind("other", r"T-(?P<secret>[0-9]+)").pattern
    assert kind.pattern.search("see T-12")["secret"] == "12"


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "secrets.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "secret"), [(name, secret) for name, secrets in EXAMPLES.items() for secret in secrets])
def test_a_secret_is_replaced_by_its_kind(name, secret):
    """At the beginning, at the end, and between other words."""
    assert redact_text(secret) == f"[redacted {name}]"
    assert redact_text(f"see: {secret}\nand more") == f"see: [redacted {name}]\nand more"


@pytest.mark.parametrize("begin", sorted({begin for token in TOKENS for begin in token.begins}))
def test_every_beginning_is_documented(begin):
    """Each is in the table, so that whoever looks for a service finds it."""
    assert f"`{begin}" in PAGE


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token.begins[0])
def test_a_beginning_inside_of_a_word_is_none(token):
    """`task-sk-…` and base64 hold such letters by chance."""
    assert all(not token.kind().pattern.match(f"x{begin}", 1) for begin in token.begins)


AROUND = {
    "https://hooks.slack.com/" + "services/T0AAAA/B0AAAA/abcDEF123": "https://hooks.slack.com/services/[redacted webhook]",
    "https://discord.com/" + "api/webhooks/123456/abc-DEF_12": "https://discord.com/api/webhooks/[redacted webhook]",
    "Cookie: sid=abcd1234; theme=dark": "Cookie: [redacted cookie]",
    "Set-Cookie: sid=abcd1234; Path=/": "Set-Cookie: sid=[redacted cookie]; Path=/",
    "curl -u me:hunter2 https://x": "curl -u me:[redacted password] https://x",
    "mysql -u root -phunter2 shop": "mysql -u root -p[redacted password] shop",
    "echo hunter2 | sudo -S ls": "echo [redacted password] | sudo -S ls",
    "https://x/?api_key=abcd1234abcd1234&q=1": "https://x/?api_key=[redacted secret]&q=1",
    "Authorization: Token abcdefghijkl1234": "Authorization: Token [redacted authorization]",
    "net user bob h0rse /add": "net user bob [redacted password] /add",
    "xfreerdp /v:host /p:horse": "xfreerdp /v:host /p:[redacted password]",
    "CREATE USER a IDENTIFIED BY 'horse'": "CREATE USER a IDENTIFIED BY '[redacted password]'",
}


@pytest.mark.parametrize(("text", "shown"), AROUND.items())
def test_only_the_secret_goes(text, shown):
    """What says where it was stays (R63)."""
    assert redact_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "docker run -u 1000:1000 image",
        "curl -u $USER:$PASS https://x",
        "curl https://x/a:b",
        "Authorization: Bearer <token>",
        "Authorization: ${TOKEN}",
        "postgres://me:${PASSWORD}@db",
        "Cookie: ",
        "the cookie: a small text file",
        "12:30:45:note",
        "the net user experience is good",
        "net user bob",
        "net user bob * /add",
        "net user bob /active:yes",
        "net user bob %PASSWORD%",
        "net use Z: /delete",
    ],
)
def test_what_names_no_secret_stays(text):
    """Variables, places to fill in, numbers of users."""
    assert redact_text(text) == text


def test_private_keys_come_first():
    """Whatever the lines of a block look like, it goes as one."""
    assert PLACES[0].name == "private key"
