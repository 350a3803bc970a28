"""Calls edited: what is sent, and what the Editor is told."""

import json
import logging

import pytest

from redline.providers.answers import Answer
from redline.providers.usage import Usage
from redline.transport.editing import Call, WireEditor
from tests.transport.stand_in import StandInEditor

BODY = b'{"model": "claude-opus-5" , "messages":[ {"role":"user", "content":"STALE"} ] , "system":"STALE"}'
STRUCK = BODY.replace(b"STALE", b"struck", 1)
HEADERS = {"x-api-key": "k", "x-claude-code-session-id": "s", "anthropic-beta": "b, a"}


def call(body=BODY, path="/v1/messages", **headers):
    return Call("POST", path, {**HEADERS, **headers}, body)


def test_the_client_gets_its_bytes_with_the_strikes():
    """All but the struck words is as the client wrote it, and the Editor is told where the request goes."""
    editor = StandInEditor()
    edited = WireEditor(editor).edit(call())
    assert (edited.body, edited.is_changed, edited.untouched) == (STRUCK, True, "")
    assert (edited.session, edited.model, edited.read.format) == ("s", "claude-opus-5", "anthropic")
    (asked,) = editor.asked
    assert asked.pop("namespace") not in ("", "k")
    preamble = {"system": "STALE", "betas": ["a", "b"]}
    expected = {"format": "anthropic", "session": "s", "model": "claude-opus-5", "preamble": preamble, "lifetime": "none"}
    assert asked == expected


def test_nothing_to_change_is_the_very_body():
    """Not a copy of it."""
    given = call(BODY.replace(b'"content":"STALE"', b'"content":"news"'))
    edited = WireEditor(StandInEditor()).edit(given)
    assert edited.body is given.body
    assert not edited.is_changed


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (call(path="/v1/messages/count_tokens"), "no model is asked"),
        (call(b"STALE"), "not JSON"),
        (call(authorization="AWS4-HMAC-SHA256 x"), "signed"),
        (call(b'{"thread":{"type":"continue"},"messages":[{"role":"user","content":"STALE"}]}'), "thread"),
    ],
)
def test_what_is_not_ours_is_not_looked_at(given, reason):
    """It says why, and the Editor is not asked."""
    editor = StandInEditor()
    edited = WireEditor(editor).edit(given)
    assert edited.body is given.body
    assert reason in edited.untouched
    assert (edited.request, editor.asked) == (None, [])


def test_a_dry_run_records_and_changes_nothing():
    """The Editor is asked as ever."""
    editor, given = StandInEditor(), call()
    edited = WireEditor(editor, is_dry_run=True).edit(given)
    assert edited.body is given.body
    assert edited.request.is_changed
    assert "dry run" in edited.untouched


def test_subscriptions_are_only_observed():
    """Unless the user asks for more."""
    given = call(**{"anthropic-beta": "oauth-2025-04-20"})
    edited = WireEditor(StandInEditor()).edit(given)
    assert edited.body is given.body
    assert "oauth-2025-04-20" in edited.untouched
    assert WireEditor(StandInEditor(), edits_subscriptions=True).edit(given).body == STRUCK


def test_a_signed_body_is_not_edited_even_if_subscriptions_are():
    """Nobody may forge what `cch=` signs."""
    system = [{"type": "text", "text": "x-anthropic-billing-header: cch=1;"}]
    given = call(json.dumps({"system": system, "messages": [{"role": "user", "content": "STALE"}]}).encode())
    assert WireEditor(StandInEditor(), edits_subscriptions=True).edit(given).body is given.body


def test_bytes_that_are_no_text_are_left_alone():
    """From the first time on."""
    editor, given = StandInEditor(), call(BODY.replace(b'"system":"STALE"', b'"metadata":{"x":"\xff"}'))
    edited = WireEditor(editor).edit(given)
    assert edited.body is given.body
    assert editor.left_alone == ["its body is not UTF-8"]


def test_a_mistake_of_ours_leaves_what_was_sent_before(caplog):
    """First the strikes on record, then the client's bytes; both are logged, without credentials or words of the user."""
    assert WireEditor(StandInEditor(fails=("edit",))).edit(call()).body == STRUCK
    given = call(**{"x-api-key": "secret-key"})
    edited = WireEditor(StandInEditor(fails=("edit", "recorded"))).edit(given)
    assert edited.body is given.body
    assert edited.untouched == "it could not be edited"
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3
    assert "secret-key" not in caplog.text
    assert "STALE" not in caplog.text


def test_a_retreat_asks_no_rules():
    """For a caller that cannot wait."""
    editor = StandInEditor()
    assert WireEditor(editor).fall_back(call()).body == STRUCK
    assert editor.asked == []


@pytest.mark.parametrize(("status", "is_told"), [(400, True), (413, True), (429, False), (500, False), (200, False)])
def test_a_refusal_is_told(status, is_told):
    """If the provider refuses a body that was changed; not one that was not."""
    editor = StandInEditor()
    wire = WireEditor(editor)
    wire.refused(wire.edit(call(BODY.replace(b"STALE", b"news"))), status)
    assert editor.left_alone == []
    wire.refused(wire.edit(call()), status)
    assert bool(editor.left_alone) == is_told
    assert wire.edit(call()).untouched == ("left alone" if is_told else "")


def test_usage_is_reported(caplog):
    """What the provider said; nothing where it said nothing, and a store that fails is logged."""
    editor, usage = StandInEditor(), Usage(1, 2)
    wire = WireEditor(editor)
    edited = wire.edit(call())
    wire.answered(edited, None)
    wire.answered(edited, Answer((), None, "", "anthropic"))
    wire.answered(wire.edit(call(b"not JSON")), Answer((), usage, "", "anthropic"))
    assert editor.reported == []
    wire.answered(edited, Answer((), usage, "", "anthropic"))
    assert editor.reported == [(edited.request, usage)]
    failing = WireEditor(StandInEditor(fails=("report", "stop_editing")))
    failing.answered(failing.edit(call()), Answer((), usage, "", "anthropic"))
    failing.refused(failing.edit(call()), 400)
    assert len(caplog.records) == 2
