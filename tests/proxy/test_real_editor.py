"""The proxy with the Editor itself: strikes that were never sent are never taken for sent."""

import json

import pytest

from redline.conversation.editor import Editor
from redline.policy.policy import Policy
from redline.prices import find_price
from redline.providers.usage import Usage, cost_of
from redline.record.opening import open_log
from redline.record.records import UsageReported
from redline.store import Store
from redline.transport.editing import Call, WireEditor
from tests.cli.test_proxy import reads
from tests.proxy.support import ANSWER, proxy, upstream

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
    assert WireEditor(editor, edits_subscriptions=True).fall_back(call(**headers)).body == BODY


def test_a_withdrawn_edit_is_not_in_force():
    """What came too late is not in what is recorded; what was sent is."""
    editor = WireEditor(Editor(policy=Policy.documents()))
    late = editor.edit(call())
    assert late.is_changed
    editor.withdraw(late)
    assert editor.fall_back(call()).body == BODY
    sent = editor.edit(call())
    assert editor.fall_back(call()).body == sent.body != BODY


def test_the_proxy_edits_with_the_editor(tmp_path):
    """The body that arrives is the Editor's, and the answer's usage is reported to it."""
    editor = WireEditor(Editor(policy=Policy.documents()))
    with upstream() as up, proxy(up.url, tmp_path, editor=editor) as running:
        running.ask(body=BODY, headers=[("x-api-key", "k")])
        totals = running.settled(1)["totals"]
    assert up.seen[0].body == editor.fall_back(call()).body != BODY
    assert totals["struck_tokens"] > 1000


@pytest.mark.parametrize(
    ("ttl", "split", "written_1h"),
    [
        ("1h", None, 20_000),
        ("1h", {"ephemeral_5m_input_tokens": 15_000, "ephemeral_1h_input_tokens": 5_000}, 5_000),
        ("5m", None, 0),
        ("5m", {"ephemeral_5m_input_tokens": 15_000, "ephemeral_1h_input_tokens": 5_000}, 5_000),
    ],
)
def test_one_hour_cache_writes_are_accounted_and_recorded(tmp_path, ttl, split, written_1h):
    """As the provider splits them; where it does not, the client's request says for how long its cache was written."""
    told = {**ANSWER["usage"], "cache_creation_input_tokens": 20_000, "cache_creation": split}
    marked, store = {"cache_control": {"type": "ephemeral", "ttl": ttl}, **reads(8)}, tmp_path / "chats"

    def serve(peer):
        peer.read_request()
        peer.answer({**ANSWER, "usage": told})

    with (
        Editor(store, policy=Policy.documents()) as editor,
        upstream(serve) as up,
        proxy(up.url, tmp_path, editor=WireEditor(editor)) as running,
    ):
        running.ask(body=json.dumps(marked).encode(), headers=[("x-api-key", "k")])
        totals = running.settled(1)["totals"]
    usage = Usage(10, 5, 70, 20_000, written_1h)
    assert totals["cost_usd"] == pytest.approx(cost_of(usage, find_price(marked["model"])), abs=1e-6)
    (name,) = Store(store).names()
    records = [one.record for one in open_log(Store(store).address_of(name)).read()]
    assert [one.usage for one in records if isinstance(one, UsageReported)] == [usage]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("", [("x-api-key", "secret-one")]), ("", [("x-api-key", "secret-two")])),
        (("?key=secret-one", []), ("?key=secret-two", [])),
        (("", [("cookie", "session=secret-one")]), ("", [("cookie", "session=secret-two")])),
        (
            ("", [("authorization", "Bearer sk-ant-oat01-secret-one")]),
            ("", [("authorization", "Bearer sk-ant-oat01-secret-two")]),
        ),
        (
            ("", [("x-api-key", "k"), ("authorization", "Bearer secret-one")]),
            ("", [("x-api-key", "k"), ("authorization", "Bearer secret-two")]),
        ),
    ],
)
def test_different_credentials_are_kept_apart(tmp_path, first, second):
    """R132: one folder, one label, one history, two keys: two records, no key in either; the first key finds its own again."""
    store = tmp_path / "chats"
    with (
        Editor(store, policy=Policy.documents()) as editor,
        upstream() as up,
        proxy(up.url, tmp_path, editor=WireEditor(editor)) as running,
    ):
        for query, headers in (first, second, first):
            running.ask(path=f"/s/app/v1/messages{query}", body=BODY, headers=headers)
        running.settled(3)
    with Store(store) as kept:
        assert len(list(kept.names())) == 2
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"secret-one" not in written
    assert b"secret-two" not in written
