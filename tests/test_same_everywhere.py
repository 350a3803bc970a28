"""What a caller gives is taken in every place that takes it, and refused in every place where it is wrong."""

import asyncio
import os
from pathlib import Path

import pytest

import redline
import redline.conversation.aio
from redline import Conversation, Editor, Policy, RedlineError
from redline.errors import ExecutionError
from redline.record.backends.memory import MemoryLog
from redline.record.opening import open_log
from redline.rules import OffloadResults, StaleTerminal
from redline.testing import asks, conversation, says
from tests.object_server import object_server
from tests.record.logs import KINDS, new_address
from tests.record.logs import message as message_record

HELLO = {"role": "user", "content": "hello"}
LONG = conversation("openai_chat", [says("user", "go"), *asks("terminal-execute", {"command": "ls"}, "long " * 900, id="c1")])

# --- what was closed


@pytest.fixture(params=("memory", *KINDS))
def address(request, tmp_path):
    return MemoryLog() if request.param == "memory" else new_address(request.param, tmp_path, request)


def opened(address, **settings):
    return Conversation(log=address) if isinstance(address, MemoryLog) else redline.open(address, **settings)


@pytest.mark.parametrize(
    "act",
    [
        lambda talk: talk.add(HELLO),
        lambda talk: talk.add_response({"role": "assistant", "content": "hi"}),
        lambda talk: talk.process({"operation": "truncate", "truncate": {"keep_last": 1}}),
        lambda talk: talk.start_batch(0),
        lambda talk: talk.pin(0),
        lambda talk: talk.unpin(0),
        lambda talk: talk.rewind(0),
        lambda talk: talk.switch(talk.branches[0]),
        lambda talk: talk.refresh(),
        lambda talk: talk.request(),
        lambda talk: talk.record_usage(input_tokens=5),
        lambda talk: talk.compact(lambda _: "short", keep_last=1, in_place=True),
    ],
)
def test_nothing_is_added_to_what_was_closed(address, act):
    """R164: each call says that it was closed, also the second; what was said can be looked at, and the log is as it was."""
    with opened(address) as talk:
        for message in (*LONG, HELLO):
            talk.add(message)
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"closed\. Open it again"):
            act(talk)
    assert len(talk.messages) == 4
    assert talk.preview().messages
    talk.close()
    with opened(address) as again:
        assert again.messages == talk.messages
        assert again.branches[0].messages == 4
        again.add(HELLO)


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_conversation_does_not_take_its_claim_again(kind, tmp_path, request):
    """R164: another writer has it by now."""
    address = new_address(kind, tmp_path, request)
    talk = redline.open(address, exclusive=True)
    talk.add(HELLO)
    talk.close()
    with pytest.raises(ExecutionError, match="closed"):
        talk.add(HELLO)
    with redline.open(address, exclusive=True) as other:
        other.add(HELLO)
        with pytest.raises(ExecutionError, match="closed"):
            talk.add(HELLO)
        assert len(other.messages) == 2


def test_nothing_is_added_to_what_was_closed_in_asyncio(tmp_path):
    """R164: the same words."""

    async def run():
        async with await redline.aio.open(tmp_path / "chat.jsonl") as talk:
            await talk.add(HELLO)
        with pytest.raises(ExecutionError, match=r"closed\. Open it again"):
            await talk.add(HELLO)
        await talk.close()

    asyncio.run(run())


def test_an_editor_that_was_closed_edits_nothing(tmp_path):
    """R164: nor is anything reported to it; in memory, in files and in SQLite."""
    for store in (None, tmp_path, f"sqlite:///{tmp_path}/chats.db"):
        editor = Editor(store)
        made = editor.edit([HELLO], session="s")
        editor.close()
        editor.close()
        for act in (lambda: editor.edit([HELLO]), lambda: editor.report(made, {"input_tokens": 1})):  # noqa: B023 - called here
            with pytest.raises(ExecutionError, match=r"closed\. Make another"):
                act()


# --- addresses that are none


@pytest.mark.parametrize(
    "address",
    [
        *(
            ".",
            "..",
            "/",
            "./",
            "a/..",
            "folder",
            "folder/",
            "pipe",
            "loop",
            "file/x",
            "/dev/null",
            "a" * 300,
            Path(),
            Path("/"),
        ),
        *("sqlite:///.#x", "sqlite:////#x", "sqlite:///..#x", "sqlite:///folder#x", f"sqlite:///{'a' * 300}#x"),
        *("sqlite:///pipe#x", "file:///x", "s3://bucket/x", "", b"chat.jsonl", 5),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "use",
    [
        lambda address: redline.open(address).add(HELLO),
        lambda address: redline.open(address, exclusive=True).add(HELLO),
        lambda address: Conversation(log=address).add(HELLO),
        lambda address: Conversation([HELLO]).fork(address),
        lambda address: Conversation([*LONG, HELLO]).compact(lambda _: "short", keep_last=1, log=address),
        lambda address: open_log(address).append([message_record("hello")], parent=-1),
        lambda address: asyncio.run(redline.aio.open(address)),
    ],
)
def test_a_place_where_no_log_can_be_is_an_error_of_redline(address, use, tmp_path, monkeypatch):
    """R164: it names the place, wherever it is given, and nothing is made there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RedlineError):
        use(address)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("store", ["sqlite:///.", "sqlite:////", "a" * 300, "file", "s3://bucket/x", b"x"], ids=str)
def test_a_place_where_no_store_can_be_is_an_error_of_redline(store, tmp_path, monkeypatch):
    """R164: for an Editor and a Store alike."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    for use in (lambda: Editor(store).edit([HELLO]), lambda: redline.Store(store).list()):
        with pytest.raises(RedlineError):
            use()


# --- blobs, words, origins


def offloading():
    return Policy(rules=[OffloadResults(min_chars=100)], schedule="eager")


def reference_in(request):
    return next(strike.reference for strike in request.strikes)


@pytest.mark.parametrize("kind", ["folder", "path", "file://", "s3://"])
def test_blobs_may_be_named_by_their_address(kind, tmp_path, monkeypatch):
    """R164: in a conversation, in one that is opened, in its fork, in an Editor, and for `recall`."""
    folder = tmp_path / "blobs"
    place = {"folder": str(folder), "path": folder, "file://": folder.as_uri()}.get(kind)
    if place is not None:
        use_blobs_at(place, tmp_path)
        return
    with object_server() as bucket:
        for name, value in bucket.environment.items():
            monkeypatch.setenv(name, value)
        use_blobs_at(f"{bucket.address}/blobs", tmp_path)


def use_blobs_at(place, tmp_path):
    talks = [
        Conversation(LONG, policy=offloading(), blobs=place),
        redline.open(tmp_path / "chat.jsonl", policy=offloading(), blobs=place),
    ]
    talks[1].add(LONG[0])
    talks[1].add(LONG[1])
    talks[1].add(LONG[2])
    for talk in talks:
        made = talk.fork().request()
        assert talk.recall(reference_in(made), max_chars=None) == LONG[2]["content"]
        assert redline.recall(reference_in(made), place, max_chars=None) == LONG[2]["content"]
    editor = Editor(policy=offloading(), blobs=place)
    made = editor.edit(LONG)
    assert editor.recall(reference_in(made), max_chars=None) == LONG[2]["content"]
    assert type(editor.blobs) is type(redline.open_blobs(place))


@pytest.mark.parametrize("wrong", [5, object(), [], "ftp://x/y"], ids=range(4))
def test_blobs_that_are_none_are_refused(wrong, tmp_path):
    """R164: wherever they are given."""
    for use in (
        lambda: Conversation(blobs=wrong),
        lambda: redline.open(tmp_path / "chat.jsonl", blobs=wrong),
        lambda: Editor(blobs=wrong),
    ):
        with pytest.raises(RedlineError):
            use()


def test_words_may_be_named(tmp_path):
    """R164: in a policy, in a file, in a rule, and in the functions on lists; a name that is none is refused in all."""
    (tmp_path / "redline.toml").write_text('words = "en"')
    assert Policy(words="en") == Policy(words=redline.EN) == Policy.load(tmp_path / "redline.toml")
    assert Policy.documents(words="en").words is redline.EN
    assert Policy.careful(words="documents").words is redline.ZH
    assert Policy.of_table({"words": "en"}).words == redline.EN
    assert StaleTerminal(words="en") == StaleTerminal(words=redline.EN)
    simplify = redline.simplify_outdated_terminal_results
    messages = [{**message, "timestamp": 0} for message in LONG]
    assert simplify(messages, now=10**9, keep_recent=0, words="en") == simplify(
        messages, now=10**9, keep_recent=0, words=redline.EN
    )
    for use in (
        lambda: Policy(words="klingon"),
        lambda: StaleTerminal(words="klingon"),
        lambda: Policy.of_table({"words": "klingon"}),
        lambda: simplify(LONG, now=0, words="klingon"),
    ):
        with pytest.raises(RedlineError, match="en"):
            use()


def test_every_copy_names_its_origin(tmp_path):
    """R164: a fork and a compaction, in memory and stored, also when opened again, and a fork of a fork."""
    history = [*LONG, HELLO]
    memory = Conversation(history)
    assert memory.fork().origin == "memory"
    assert memory.origin is None
    with redline.open(tmp_path / "chat.jsonl") as talk:
        for message in history:
            talk.add(message)
        fork = talk.fork(tmp_path / "fork.jsonl")
        compacted = talk.compact(lambda _: "short", keep_last=1, log=tmp_path / "compacted.jsonl")
        assert fork.origin == compacted.origin == talk.fork().origin == talk.name
        assert fork.messages == talk.messages
        again = fork.fork(tmp_path / "again.jsonl")
        assert again.origin == fork.name
    for one in (fork, compacted, again):
        one.close()
        with redline.open(one.name) as reopened:
            assert reopened.origin == one.origin
            assert reopened.messages == one.messages
