"""The proxy with the Editor itself: strikes that were never sent are never taken for sent."""

import json

import pytest

from redline.editor import Editor
from redline.policy import Policy
from redline.wire.editing import Call, WireEditor
from tests.cli.test_proxy import reads
from tests.proxy.support import proxy, upstream

BODY = json.dumps(reads(8)).encode()


def call(**headers):
    return Call("POST", "/v1/messages", {"x-api-key": "k", **headers}, BODY)


@pytest.mark.parametrize(
    ("is_dry_run", "headers"), [(True, {}), (False, {"anthropic-beta": "oauth-2025-04-20", "authorization": "Bearer t"})]
)
def test_what_was_only_observed_is_not_in_force_afterwards(is_dry_run, headers):
    """After a dry run, and for a subscription, what is recorded for a history holds no strike that nobody was sent."""
    editor = Editor(policy=Policy.documents())
    observed = WireEditor(editor, is_dry_run=is_dry_run).edit(call(**headers))
    assert observed.body == BODY
    assert observed.request.strikes
    assert WireEditor(editor, edits_subscriptions=True).retreat(call(**headers)).body == BODY


def test_a_withdrawn_edit_is_not_in_force():
    """What came too late is not in what is recorded; what was sent is."""
    editor = WireEditor(Editor(policy=Policy.documents()))
    late = editor.edit(call())
    assert late.is_changed
    editor.withdraw(late)
    assert editor.retreat(call()).body == BODY
    sent = editor.edit(call())
    assert editor.retreat(call()).body == sent.body != BODY


def test_the_proxy_edits_with_the_editor(tmp_path):
    """The body that arrives is the Editor's, and the answer's usage is reported to it."""
    editor = WireEditor(Editor(policy=Policy.documents()))
    with upstream() as up, proxy(up.url, tmp_path, editor=editor) as running:
        running.ask(body=BODY, headers=[("x-api-key", "k")])
        totals = running.settled(1)["totals"]
    assert up.seen[0].body == editor.retreat(call()).body != BODY
    assert totals["struck_tokens"] > 1000
