"""What the adapters share, with a framework whose messages are strings of JSON."""

import json

import pytest

import redline
from redline.adapters.framework_editor import CallSettings, EditedCall, FrameworkEditor, MessageMapping, origins_of
from redline.providers.usage import Usage
from redline.record.opening import open_log
from redline.record.records import UsageReported
from redline.testing.builders import asks, conversation, says

MINUTE = 60_000
POLICY = redline.Policy(words=redline.EN, schedule="eager")


class RefusedError(Exception):
    status_code = 400


def worked():
    """A conversation of which the oldest output is out of date after an hour."""
    turns = [turn for number in range(8) for turn in asks("bash", {"command": "make"}, "cc -c a.c\n" * 90, id=f"c{number}")]
    return [json.dumps(message) for message in conversation("openai_chat", [says("user", "Build it."), *turns])]


def mapping(**functions):
    """A mapping to Chat Completions that does what these functions do."""
    plain = {"read": json.loads, "write": lambda _, payload, __: [json.dumps(payload)], "fields": lambda _: ()}
    made = MessageMapping()
    made.__dict__.update({"format": "openai_chat", **plain, **functions})
    return made


def editor_of(editor, **functions):
    return FrameworkEditor(editor, None, mapping(**functions))


def grown(framework, messages):
    """The last call of a conversation that grew to these messages."""
    for end in range(3, len(messages) + 1, 2):
        call = framework.edit(messages[:end], lambda: CallSettings(session="s"))
    return call


def clock():
    minutes = iter(range(0, 10_000, 5))
    return lambda: next(minutes) * MINUTE


def test_what_is_not_struck_is_the_frameworks_own_object():
    """Only messages that were changed are written anew, and the list that was given is never touched."""
    messages = worked()
    before = list(messages)
    call = grown(editor_of(redline.Editor(policy=POLICY, clock=clock())), messages)
    struck = {strike.index for strike in call.request.strikes}
    assert struck
    assert messages == before
    for index, (sent, own) in enumerate(zip(call.messages, messages, strict=True)):
        assert (sent is own) == (index not in struck)


def test_a_message_is_read_once_and_again_when_it_was_changed():
    """In place, as some middleware does: what the Editor records is what the message says now."""
    read = []

    def reads(message):
        read.append(message["content"])
        return message

    editor = redline.Editor(policy=POLICY)
    framework = editor_of(editor, read=reads, write=lambda _, one, __: [one], fields=lambda one: [*one.values()])
    messages = [{"role": "user", "content": "Build it."}, {"role": "user", "content": "Now."}]
    for _ in range(2):
        framework.edit(messages, CallSettings)
    messages[1]["content"] = "Later."
    call = framework.edit(messages, CallSettings)
    assert read == ["Build it.", "Now.", "Later."]
    assert [one["content"] for one in call.request.messages] == ["Build it.", "Later."]


class Incomparable:
    def __eq__(self, other):
        raise ValueError("neither true nor false")

    __hash__ = None


def test_a_change_within_a_message_is_seen():
    """Deep in its blocks, in place, in a list that was cut in between, and beside values that cannot be compared."""
    framework = editor_of(
        redline.Editor(policy=POLICY),
        read=lambda one: {"role": one["role"], "content": one["content"]},
        write=lambda _, one, __: [one],
        fields=lambda one: (one["role"], one["content"], one["beside"]),
    )
    messages = [
        {"role": "user", "content": [{"type": "text", "text": f"Build {number}."}], "beside": Incomparable()}
        for number in range(4)
    ]
    framework.edit(messages, CallSettings)
    framework.edit(messages[:2], CallSettings)
    messages[1]["content"][0]["text"], messages[2]["beside"] = "Build nothing.", Incomparable()
    said = framework.edit(messages, CallSettings).request.messages
    assert [one["content"][0]["text"] for one in said] == ["Build 0.", "Build nothing.", "Build 2.", "Build 3."]


def test_a_mistake_of_ours_does_not_stop_the_call(caplog):
    """An Editor that fails, settings or a message that cannot be read: what was given is sent, and the log says why."""
    messages = worked()

    def broken():
        raise RuntimeError("the clock stands still")

    framework = editor_of(redline.Editor(policy=POLICY, clock=broken))
    assert list(framework.edit(messages, CallSettings).messages) == messages
    assert framework.edit(messages, broken).messages is messages
    assert framework.edit(["{"], CallSettings).messages == ["{"]
    assert [record.name for record in caplog.records] == ["redline.adapters"] * 3


def test_after_a_mistake_what_was_struck_stays_struck():
    """The bytes that were sent before are sent again, though no rule can be asked."""
    times = iter(range(0, 70, 10))
    framework = editor_of(redline.Editor(policy=POLICY, clock=lambda: next(times) * MINUTE))
    messages = worked()
    call = grown(framework, messages[:15])
    again = framework.edit(messages[:15], lambda: CallSettings(session="s"))  # the clock has run out: StopIteration
    assert call.request.is_changed
    assert again.messages == call.messages


def test_a_change_that_cannot_be_said_is_withdrawn(caplog):
    """If a message cannot be written, all is sent as it was, and nothing counts as struck."""

    def write(own, payload, _):
        raise redline.RedlineError("there is no such message")

    editor = redline.Editor(policy=POLICY, clock=clock())
    messages = worked()
    assert grown(editor_of(editor, write=write), messages).messages == messages
    assert not editor.recorded([message.encode() for message in messages], session="s", format="openai_chat").is_changed
    assert "cannot be said" in caplog.text


def test_what_was_refused_is_left_alone():
    """After a refusal of changed messages the conversation is sent as it comes; other errors change nothing."""
    framework = editor_of(redline.Editor(policy=POLICY, clock=clock()))
    messages = worked()
    call = grown(framework, messages)
    framework.failed(call, ValueError("no connection"))
    assert framework.edit(messages, lambda: CallSettings(session="s")).request.is_changed
    framework.failed(call, RefusedError())
    assert framework.edit(messages, lambda: CallSettings(session="s")).messages is messages


def test_usage_that_cannot_be_read_is_logged(caplog):
    """A usage of another shape than expected costs a line in the log."""
    framework = editor_of(redline.Editor(policy=POLICY, clock=clock()))
    call = framework.edit(worked(), CallSettings)
    framework.answered(call, lambda: Usage(10, 2))
    framework.answered(call, lambda: None)
    assert not caplog.records
    framework.answered(call, lambda: {}["input_tokens"])
    assert "usage" in caplog.text


@pytest.mark.parametrize(("lifetime", "written_1h"), [("1h", 900), ("5m", 0), ("", 0)])
def test_usage_counts_for_the_cache_that_was_asked_for(tmp_path, lifetime, written_1h):
    """Frameworks report one sum of cache writes."""
    with redline.Editor(tmp_path, policy=POLICY, clock=clock()) as editor:
        framework = editor_of(editor)
        call = framework.edit(worked(), lambda: CallSettings(lifetime=lifetime))
        framework.answered(call, lambda: Usage(10, 2, 0, 900))
        records = [one.record for one in open_log(editor.address_of(call.request)).read()]
    assert [one.usage for one in records if isinstance(one, UsageReported)] == [Usage(10, 2, 0, 900, written_1h)]


def test_copies_are_found_again_by_their_key():
    """Of a framework that copies its messages for each call, one is read again only when it says something else."""
    read = []

    def note(message):
        read.append(message["content"])
        return message

    framework = editor_of(
        None,
        read=note,
        write=lambda _, payload, __: [payload],
        fields=lambda message: [*message.values()],
        key=lambda message: message["content"][:5],
    )
    for words in ("Build it.", "Build it.", "Build that."):
        given = [{"role": "user", "content": words}]
        assert framework.edit(given, CallSettings).messages[0] is given[0]
    assert read == ["Build it.", "Build that."]


def test_calls_that_are_never_answered_are_forgotten():
    """A call is over once, and of too many the oldest goes."""
    under_way = editor_of(None)
    for number in range(1_001):
        under_way.begin(number, EditedCall([number]))
    assert under_way.end(0).messages == ()
    assert under_way.end(1_000).messages == [1_000]
    assert under_way.end(1_000).messages == ()


def test_an_editor_has_its_own_policy():
    """Two policies at once are a mistake; a name that is none, too."""
    with pytest.raises(redline.ValidationError, match="own policy"):
        FrameworkEditor(redline.Editor(), "careful", mapping())
    with pytest.raises(redline.ValidationError, match="no policy named"):
        FrameworkEditor(None, "brave", mapping())


@pytest.mark.parametrize(
    ("after", "origins"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "c"}, {"type": "call", "id": 1}], [0, 1, 2]),
        ([{"type": "text", "text": "b"}, {"type": "call", "id": 1}], [1, 2]),
        ([{"type": "text", "text": "new"}, {"type": "call", "id": 1}], [0, 2]),
        ([{"type": "call", "id": 1}], [2]),
        ([{"type": "picture"}], [None]),
    ],
)
def test_blocks_are_found_again(after, origins):
    """Blocks that stayed, were changed, or were left out, each at its place."""
    before = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "call", "id": 1}]
    assert origins_of(after, before) == origins


def test_users_of_adapters_have_a_log_each(tmp_path):
    """R153: a thread of the framework's has its own log, and a namespace keeps all of one adapter apart from another's."""
    for namespace, session in (("", "a"), ("", "b"), ("x", "a"), ("y", "a")):
        framework = FrameworkEditor(tmp_path, None, mapping(), namespace=namespace)
        framework.edit([json.dumps({"role": "user", "content": "Hi"})], lambda session=session: CallSettings(session=session))
    assert sorted(one.sessions for one in redline.Store(tmp_path).list()) == [("a",), ("a",), ("a",), ("b",)]
    with pytest.raises(redline.ValidationError, match="namespace"):
        FrameworkEditor(None, None, mapping(), namespace=5)
