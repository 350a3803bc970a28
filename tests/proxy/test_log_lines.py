"""Nothing that was said, no query and no credential is logged or stored."""

import logging

from tests.proxy.support import QUESTION, proxy, upstream


def test_no_secret_is_logged_or_stored(tmp_path, caplog):
    """A request leaves one line, with numbers; its words, its query and its keys are nowhere."""
    caplog.set_level(logging.DEBUG, "redline")
    body = QUESTION.replace(b"Hi", b"the plan is blue")
    keys = [("x-api-key", "sk-secret-1"), ("authorization", "Bearer sk-secret-2"), ("x-redline-token", "sk-secret-3")]
    with upstream() as up, proxy(up.url, tmp_path) as running:
        running.ask(path="/t/sk-secret-4/s/app/v1/messages?key=sk-secret-5", body=body, headers=keys)
        running.settled(1)
    lines = [record.getMessage() for record in caplog.records if record.name == "redline.proxy"]
    assert len(lines) == 1
    assert lines[0].startswith("POST /v1/messages 200 anthropic claude-opus-4-6 sent=100 read=70 written=20 output=5")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert b"claude-opus-4-6" in stored
    for secret in ("sk-secret", "blue", "?key"):
        assert secret not in caplog.text
        assert secret.encode() not in stored
    assert (tmp_path / "store" / "proxy.accounts").stat().st_mode & 0o777 == 0o600


def test_names_of_the_clients_stay_in_their_line(tmp_path, caplog):
    """A model's name may be anything: it makes no line of its own, colors nothing, and is counted."""
    caplog.set_level(logging.INFO, "redline.proxy")
    names = [rb"x\n12:00:00 POST /fake 200", rb"\u001b[31mred", rb"\ud800", b"m" * 100_000]
    with upstream() as up, proxy(up.url, tmp_path) as running:
        for name in names:
            assert running.ask(body=QUESTION.replace(b"claude-opus-4-6", name)).status == 200
        running.settled(len(names))
    lines = [record.getMessage() for record in caplog.records if record.name == "redline.proxy"]
    assert len(lines) == len(names)
    assert all(line.isprintable() and len(line) < 300 for line in lines)
