"""Whose history it is: users who begin alike have a log each, forks and old stores go on, and one goes without the others."""

from collections.abc import Iterable

import pytest

import redline
from redline import EN, Editor, Policy, Store
from redline.conversation.resent import incoming
from redline.record.log import INDEX, ROOT, Header
from redline.record.opening import LogStore
from redline.record.records import ForkedFrom, LogIndexed, MessageAdded, SessionNamed
from redline.testing import asks, conversation, says
from tests.store.places import KINDS, files_with, new_place

EAGER = Policy.documents(words=EN)
MINUTE = 60_000


def chat(user: str, *, greeting: str = "Hello!", format: str = "anthropic") -> list:
    """What a user says and hears after a first message that everybody sends."""
    turns = [says("user", "Hi"), says("assistant", greeting), says("user", f"I am {user}."), says("assistant", f"Hi {user}!")]
    return conversation(format, [*turns, says("user", f"{user} leaves.")])


def worked(name: str, reads: int = 9) -> list:
    turns = [says("user", "Go on.")]
    for number in range(reads):
        turns += asks("Read", {"file_path": "/a.py"}, f"text {number} " * 30, id=f"call_{name}{number}")
    return conversation("anthropic", turns)


def sent_by_turns(editor: Editor, lists: list[list], **each: list[str]) -> None:
    """Each user's requests, one of each in turn."""
    for end in range(1, max(map(len, lists)) + 1, 2):
        for number, messages in enumerate(lists):
            editor.edit(messages[:end], now=end * MINUTE, **{name: values[number] for name, values in each.items()})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("greeting", ["Hello!", ""])
@pytest.mark.parametrize("by", ["session", "namespace", "nothing"])
def test_users_who_begin_alike_have_a_log_each(kind, by, greeting, tmp_path, request):
    """R153: of two users with the same first messages, each has a log; deleting one leaves the other whole."""
    address, users = new_place(kind, tmp_path, request), ["alice", "bob"]
    lists = [chat(user, greeting=greeting or f"Hello {user}!") for user in users]
    with Editor(address) as editor:
        sent_by_turns(editor, lists, **({by: users} if by != "nothing" else {}))
    store = Store(address)
    found = {"alice" if store_says(store, one.name, "alice") else "bob": one.name for one in store.list()}
    assert sorted(found) == users
    assert not store_says(store, found["bob"], "alice")
    store.delete(found["alice"])
    assert [one.name for one in store.list()] == [found["bob"]]
    assert list(store.open(found["bob"]).messages) == lists[1]


def store_says(store: Store, name: str, text: str) -> bool:
    return any(result.conversation.name == name for result in store.search(text))


def test_examples_that_every_list_begins_with_are_no_conversation(tmp_path):
    """R153: lists of no session that share what they were first sent with are apart, however long that is."""
    examples = chat("an example")
    lists = [[*examples, *chat(user)[2:]] for user in ("alice", "bob")]
    with Editor(tmp_path) as editor:
        for messages in lists:
            editor.edit(messages[:6], now=0)
        for messages in lists:
            editor.edit(messages, now=MINUTE)
    store = Store(tmp_path)
    assert sorted(list(store.open(one.name).messages) == lists[0] for one in store.list()) == [False, True]


def test_a_rewind_without_a_session_stays_in_its_log(tmp_path):
    """What turns off later is a branch, with its strikes."""
    messages, editor = worked("a"), Editor(tmp_path, policy=EAGER)
    for end in range(1, len(messages) + 1):
        before = editor.edit(messages[:end], now=end * MINUTE)
    after = editor.edit([*messages[:-2], {"role": "user", "content": "Stop."}], now=99 * MINUTE)
    assert after.log == before.log
    assert after.strikes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_fork_has_a_log_of_its_own_with_all_that_is_struck(kind, restarted, tmp_path, request):
    """R153: a fork sends the bytes that are cached, and nothing of it is lost when the first session is deleted."""
    address, messages = new_place(kind, tmp_path, request), worked("a")
    editor = Editor(address, policy=EAGER)
    for end in range(1, len(messages) + 1):
        before = editor.edit(messages[:end], session="one", format="anthropic", now=end * MINUTE)
    if restarted:
        editor.close()
        editor = Editor(address, policy=EAGER)
    fork = [*messages, {"role": "user", "content": "Now in the fork."}]
    after = editor.edit(fork, session="two", now=99 * MINUTE)
    assert before.strikes
    assert after.log != before.log
    assert after.body.startswith(before.body[:-1])
    editor.close()
    Store(address).delete(before.log)
    with Editor(address, policy=EAGER) as again:
        assert again.edit(fork, session="two", now=99 * MINUTE).body == after.body
        assert len(again.recorded(fork, session="two").strikes) == len(before.strikes)
    (left,) = Store(address).list()
    assert (left.name, left.sessions, left.messages) == (after.log, ("two",), len(fork))


def test_a_fork_does_not_name_the_log_it_comes_from(tmp_path):
    """What one session may see of another is its own beginning."""
    messages, editor = worked("a"), Editor(tmp_path, policy=EAGER)
    before = editor.edit(messages, session="one", now=0)
    after = editor.edit([*messages, {"role": "user", "content": "x"}], session="two", now=MINUTE)
    editor.close()
    said = (tmp_path / f"{after.log}.jsonl").read_text()
    assert before.log not in said
    assert '"one"' not in said
    origins = [one.record.origin for one in records_of(tmp_path, after.log) if isinstance(one.record, ForkedFrom)]
    assert origins == ["another session of this store"]


def records_of(place, name: str) -> list:
    return list(LogStore(place).open(name, Header(conversation=name)).read())


def shared_log(address: str, lists: Iterable[tuple[str, list]]) -> str:
    """A log as older versions wrote it: all sessions with one first message in it, and in the index the one that began it."""
    reader = incoming.ListReader()
    read = [(session, reader.read(messages, session=session)) for session, messages in lists]
    logs = LogStore(address)
    first, name = read[0][0], read[0][1].shared_log()
    log = logs.open(name, Header(conversation=name))
    for session, one in read:
        messages = [MessageAdded(native, 5.0, digest) for native, digest in zip(one.stored, one.digests, strict=True)]
        log.append([*([SessionNamed(session)] if session else []), *messages], parent=ROOT)
    logs.open(INDEX, Header(conversation=INDEX)).append([LogIndexed(name, first)], parent=ROOT)
    log.close()
    logs.close()
    return name


@pytest.mark.parametrize("kind", KINDS)
def test_old_stores_go_on(kind, tmp_path, request):
    """R153: a log that several sessions share stays readable, and each goes on in it."""
    address, lists = new_place(kind, tmp_path, request), {user: chat(user) for user in ("alice", "bob")}
    name = shared_log(address, lists.items())
    with Editor(address) as editor:
        for user, messages in lists.items():
            assert editor.edit([*messages, {"role": "assistant", "content": "Bye."}], session=user).log == name
        assert editor.edit(chat("carol"), session="carol").log != name
    assert {one.name: one.sessions for one in Store(address).list()}[name] == ("alice", "bob")


@pytest.mark.parametrize("kind", KINDS)
def test_one_session_of_a_shared_log_is_deleted_alone(kind, tmp_path, request):
    """R153: the other sessions of an old log stay readable and whole, and go on; of the deleted one nothing is left."""
    users = ("alice", "bob", "")
    address, lists = new_place(kind, tmp_path, request), {user: chat(user or "nobody") for user in users}
    store, name = Store(address), shared_log(address, lists.items())
    store.describe(name, title="Shared")
    with pytest.raises(redline.ValidationError, match="'carol'"):
        store.delete(name, session="carol")
    store.delete(name, session="alice")
    left = {one.sessions: one for one in store.list()}
    assert set(left) == {("bob",), ()}
    assert list(store.open(left["bob",].name).messages) == lists["bob"]
    assert list(store.open(left[()].name).messages) == lists[""]
    assert {one.title for one in left.values()} == {"Shared"}
    assert not list(store.search("alice"))
    with Editor(address) as editor:
        assert editor.edit(lists["bob"], session="bob").log == left["bob",].name
    if kind == "folder":
        assert files_with("alice", tmp_path) == []


def test_compaction_in_a_session_still_names_its_origin(tmp_path):
    """A session's log is found again by its name, also beside another session that began alike."""
    messages, editor = worked("a"), Editor(tmp_path, policy=EAGER)
    own = editor.edit(messages, session="one", now=0)
    editor.edit(worked("b"), session="two", now=0)
    after = editor.edit([{"role": "user", "content": "A summary."}, *messages[-4:]], session="one", now=MINUTE)
    (origin,) = [one.record for one in records_of(tmp_path, after.log) if isinstance(one.record, ForkedFrom)]
    assert own.log in origin.origin
