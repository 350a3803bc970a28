import json
import zipfile

import pytest

from redline import TranscriptError, check
from redline.agents.inspect_ai import InspectAi
from redline.agents.transcripts import Usage
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from redline.values.messages import Media, Reasoning, Text
from tests.agents.transcripts.counting import counted, said_by
from tests.corpus import corpus_path, corpus_rows, needs_corpus

MESSAGES = [
    {"role": "system", "content": "Play."},
    {"role": "user", "content": "Find it.", "source": "input", "id": "m1"},
    {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "hm", "signature": "s"}, {"type": "text", "text": "I look."}],
        "source": "generate",
        "tool_calls": [
            {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function", "view": {"content": "ls"}}
        ],
    },
    {
        "role": "tool",
        "content": "",
        "tool_call_id": "c1",
        "function": "bash",
        "error": {"type": "timeout", "message": "too slow"},
    },
    {"role": "assistant", "content": "Nothing.", "source": "generate", "model": "gpt-x"},
]
EVENTS = [
    {"event": "sample_init", "timestamp": "2026-02-04T00:00:00+00:00"},
    {
        "event": "model",
        "timestamp": "2026-02-04T00:00:01+00:00",
        "output": {
            "model": "gpt-y",
            "usage": {"input_tokens": 90, "output_tokens": 6, "total_tokens": 96, "input_tokens_cache_read": 40},
        },
    },
    {"event": "tool", "timestamp": "2026-02-04T00:00:02+00:00", "id": "c1", "function": "bash"},
    {"event": "model", "timestamp": "2026-02-04T00:00:03+00:00", "output": {"model": "gpt-y", "usage": None}},
]
SAMPLE = {"id": "ctf", "epoch": 1, "messages": MESSAGES, "events": EVENTS}


def log_of(*samples):
    return {"version": 2, "status": "success", "eval": {"task": "t"}, "plan": {}, "samples": list(samples)}


def source_of(tmp_path, value):
    path = tmp_path / "log.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return Source(path)


def archive_of(tmp_path, members):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return Source(path)


def in_both_kinds(tmp_path, sample):
    members = {"header.json": log_of(), "samples/ctf_epoch_1.json": sample, "summaries.json": []}
    return [InspectAi().read(source_of(tmp_path, log_of(sample))), InspectAi().read(archive_of(tmp_path, members))]


def tokens(sent, made, total, **cached):
    return {"input_tokens": sent, "output_tokens": made, "total_tokens": total, **cached}


def natives(conversation):
    return [message.native for message in conversation.messages]


def test_samples_are_chat_in_logs_and_archives_alike(tmp_path):
    """Arguments become JSON text, thoughts are beside the content, and an error is shown as the model saw it."""
    for transcript in in_both_kinds(tmp_path, SAMPLE):
        (conversation,) = transcript
        call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"cmd":"ls"}'}}
        assert natives(conversation) == [
            {"role": "system", "content": "Play."},
            {"role": "user", "content": "Find it."},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}],
                "reasoning_content": "hm",
                "tool_calls": [call],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "Error: too slow"},
            {"role": "assistant", "content": "Nothing."},
        ]
        assert [type(part) for part in conversation.messages[2].parts[:2]] == [Reasoning, Text]
        assert conversation.messages[3].results[0].is_error
        assert check(natives(conversation), format="openai_chat") == []
        assert conversation.id == "ctf:1"


def test_events_tell_when_a_message_was_made_and_what_it_cost(tmp_path):
    """A result is matched with its event by the call, the model's messages by their order."""
    for transcript in in_both_kinds(tmp_path, SAMPLE):
        (conversation,) = transcript
        seconds = [entry.timestamp_ms and entry.timestamp_ms / 1000 - 1770163200 for entry in conversation.entries]
        assert seconds == [None, None, 1.0, 2.0, 3.0]
        assert [entry.model for entry in conversation.entries] == [None, None, "gpt-y", None, "gpt-x"]
        assert conversation.entries[2].usage == Usage(50, 6, 40)
        assert conversation.entries[4].usage is None


def test_events_that_do_not_match_are_not_guessed(tmp_path):
    """With more requests than messages nobody can tell which made which."""
    (conversation,) = InspectAi().read(source_of(tmp_path, log_of({**SAMPLE, "events": [*EVENTS, EVENTS[1]]})))
    assert [entry.timestamp_ms is not None for entry in conversation.entries] == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (tokens(10, 2, 92, input_tokens_cache_read=50, input_tokens_cache_write=30), Usage(10, 2, 50, 30)),
        (tokens(60, 2, 62, input_tokens_cache_read=50), Usage(10, 2, 50)),
        (tokens(60, 2, None), Usage(60, 2)),
    ],
)
def test_the_total_tells_whether_input_includes_the_cached_tokens(tmp_path, reported, usage):
    """Providers differ in what they call input; what was neither read from nor written to the cache is counted."""
    event = {"event": "model", "output": {"usage": reported}}
    sample = {**SAMPLE, "messages": [MESSAGES[4]], "events": [event]}
    (conversation,) = InspectAi().read(source_of(tmp_path, log_of(sample)))
    assert conversation.entries[0].usage == usage


def test_attachments_are_put_back_in_their_place(tmp_path):
    """Long texts and pictures that the log keeps apart are what the model saw."""
    picture = {"type": "image", "image": "attachment://p", "detail": "low"}
    said = [
        {"role": "user", "content": [picture, {"type": "text", "text": "attachment://t"}]},
        {"role": "user", "content": "attachment://?"},
    ]
    sample = {
        "id": 1,
        "epoch": 1,
        "messages": said,
        "attachments": {"p": "data:image/png;base64,AAAA", "t": "What is it?"},
    }
    for transcript in in_both_kinds(tmp_path, sample):
        (conversation,) = transcript
        shown, missing = conversation.messages
        assert shown.native["content"][0] == {
            "type": "image_url",
            "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"},
        }
        assert [type(part) for part in shown.parts] == [Media, Text]
        assert shown.text == "What is it?"
        assert missing.text == "attachment://?"


def test_redacted_thoughts_show_their_summary_only(tmp_path):
    """What the provider encrypted is no text."""
    thoughts = [
        {"type": "reasoning", "reasoning": "gAAAA", "redacted": True, "summary": "plans"},
        {"type": "reasoning", "reasoning": "x", "redacted": True},
    ]
    said = {"role": "assistant", "content": [*thoughts, {"type": "text", "text": "ok"}]}
    (conversation,) = InspectAi().read(source_of(tmp_path, log_of({"id": 1, "messages": [said]})))
    assert conversation.messages[0].native["reasoning_content"] == "plans"


def test_positions_lead_to_the_stored_messages(tmp_path):
    """In an archive they name the member."""
    source = source_of(tmp_path, log_of(SAMPLE, SAMPLE))
    for conversation in InspectAi().read(source):
        assert [json.loads(source.read(entry.positions[0])) for entry in conversation.entries] == MESSAGES
    (conversation,) = InspectAi().read(archive_of(tmp_path, {"samples/a.json": SAMPLE}))
    content = json.dumps(SAMPLE)
    for entry, message in zip(conversation.entries, MESSAGES, strict=True):
        (at,) = entry.positions
        assert (at.member, json.loads(content[at.offset : at.offset + at.length])) == ("samples/a.json", message)


def test_messages_of_several_members_can_be_read_in_any_order(tmp_path):
    """Going back and forth between samples gives each its own words."""
    members = {
        f"samples/{name}.json": {"id": name, "epoch": 1, "messages": [{"role": "user", "content": name}]} for name in "abc"
    }
    transcript = InspectAi().read(archive_of(tmp_path, members))
    order = [*transcript.conversations, *reversed(transcript.conversations)]
    assert "".join(conversation.messages[0].text for conversation in order) == "abccba"


def test_a_torn_archive_is_an_error(tmp_path):
    """An archive without its directory cannot be read, and the error says so."""
    path = archive_of(tmp_path, {"samples/a.json": SAMPLE}).path
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(TranscriptError, match=r"log\.eval is not a whole archive"):
        InspectAi().read(Source(path))


def test_a_damaged_member_is_listed_and_the_rest_is_read(tmp_path):
    """One bad sample does not hide the others, whether its bytes or its JSON are broken."""
    source = archive_of(tmp_path, {"samples/a.json": SAMPLE, "samples/b.json": '{"torn": ', "samples/c.json": SAMPLE})
    content = bytearray(source.path.read_bytes())
    content[80:90] = b"\xff" * 10
    source.path.write_bytes(content)
    transcript = InspectAi().read(Source(source.path))
    assert len(transcript) == 1
    assert [problem.path.rpartition(":")[2] for problem in transcript.problems] == ["samples/a.json", "samples/b.json"]
    assert "line 1, column 10" in transcript.problems[1].reason


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    """The size a member claims in the archive's directory is looked at before anything of it is unpacked."""
    path = archive_of(tmp_path, {"samples/a.json": SAMPLE}).path
    content = bytearray(path.read_bytes())
    size_field = content.index(b"PK\x01\x02") + 24
    content[size_field : size_field + 4] = (3 * 1024**3).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(TranscriptError, match=r"samples/a\.json in .* unpacks to 3,221,225,472 bytes, more than"):
        InspectAi().read(Source(path))


def test_an_archive_of_something_else_is_an_error(tmp_path):
    """A zip file without a log in it is named as such; a log without samples is empty."""
    with pytest.raises(TranscriptError, match="holds no Inspect log"):
        InspectAi().read(archive_of(tmp_path, {"readme.txt": "hello"}))
    assert len(InspectAi().read(archive_of(tmp_path, {"header.json": log_of()}))) == 0


def test_a_torn_log_names_line_and_column(tmp_path):
    """Where a file is cut off within its first message there is nothing to read, and the error says where it ends."""
    content = json.dumps(log_of(SAMPLE), indent=1)
    with pytest.raises(TranscriptError, match=r"log\.json is not JSON: .* line \d+, column \d+"):
        InspectAi().read(source_of(tmp_path, content[: content.index("Play.")]))
    (torn,) = InspectAi().read(source_of(tmp_path, content[: content.index("I look.")]))
    assert [message.text for message in torn.messages] == ["Play.", "Find it."]


@pytest.mark.parametrize("messages", [None, 7, [], [None, 7]])
def test_a_sample_without_messages_is_empty(tmp_path, messages):
    """What is no message is passed over."""
    transcript = InspectAi().read(source_of(tmp_path, log_of({"id": 1, "messages": messages, "events": [7]})))
    assert [conversation.entries for conversation in transcript] == [()]


@pytest.mark.parametrize("value", [{"samples": []}, {"version": 1, "messages": MESSAGES}, MESSAGES])
def test_other_files_are_not_claimed(tmp_path, value):
    """Only an object that describes an evaluation is Inspect's."""
    assert not InspectAi().recognizes(take_sample(source_of(tmp_path, value)))


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("inspect-ai"), ids=lambda row: row["path"])
def test_recorded_samples_are_counted_as_the_manifest_does(row):
    """Conversations, messages, calls, results, tools and failures agree."""
    source = Source(corpus_path(row))
    assert InspectAi().recognizes(take_sample(source))
    assert counted(InspectAi().read(source)) == said_by(row)


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("inspect-ai"), ids=lambda row: row["path"])
def test_recorded_pictures_are_whole(row):
    """Each picture of the manifest is there, with its content and not a reference to it."""
    messages = [message for conversation in InspectAi().read(Source(corpus_path(row))) for message in conversation.messages]
    pictures = [part for message in messages for part in message.parts if isinstance(part, Media)]
    told = [int(tag.removeprefix("images:")) for tag in row["features"] if tag.startswith("images:")]
    assert len(pictures) == sum(told)
    assert {picture.source_type for picture in pictures} <= {"base64"}
