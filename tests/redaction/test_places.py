"""Secrets that what is around them gives away."""

import pytest

from redline.redaction import redact_text
from redline.redaction.places import PLACES

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
