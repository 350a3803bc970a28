import json

import pytest

from redline import TranscriptError
from redline.agents.plain import Plain
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source
from tests.agents.transcripts.counting import counted, said_by
from tests.corpus import corpus_path, corpus_rows, needs_corpus

CHAT = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "x"},
]
ANTHROPIC = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
]
RESPONSES = [
    {"role": "user", "content": "hi"},
    {"type": "custom_tool_call", "call_id": "c", "name": "read", "input": "a"},
    {"type": "custom_tool_call_output", "call_id": "c", "output": "x"},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "hi"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
]
AI_SDK = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "read", "input": {}}]},
    {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "read", "output": {"type": "text", "value": "x"}}],
    },
]
KINDS = [
    pytest.param(CHAT, "messages", "openai-chat", "openai_chat", id="chat"),
    pytest.param(ANTHROPIC, "messages", "anthropic", "anthropic", id="anthropic"),
    pytest.param(RESPONSES, "input", "openai_responses", "openai_responses", id="responses"),
    pytest.param(GEMINI, "contents", "gemini", "gemini", id="gemini"),
    pytest.param(AI_SDK, "messages", "ai_sdk", "ai_sdk", id="ai-sdk"),
]


def source_of(tmp_path, text, name="chat.json"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return Source(path)


def as_lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def natives(conversation):
    return [message.native for message in conversation.messages]


@pytest.mark.parametrize(("messages", "field", "label", "spoken"), KINDS)
def test_every_shape_of_every_format_is_read(tmp_path, messages, field, label, spoken):
    """A list, a body, a list of bodies, lines of messages and lines of bodies hold the same conversation."""
    body = {"model": "m", field: messages}
    texts = [
        json.dumps(messages, indent=1),
        json.dumps(body),
        json.dumps([body], indent=1),
        as_lines(messages),
        as_lines([body]),
    ]
    for text in texts:
        source = source_of(tmp_path, text)
        assert Plain().recognizes(take_sample(source))
        transcript = Plain().read(source)
        (conversation,) = transcript
        assert (transcript.format, conversation.format, transcript.problems) == (label, spoken, ())
        assert natives(conversation) == messages
        assert [json.loads(source.read(entry.positions[0])) for entry in conversation.entries] == messages
        assert counted(transcript)["tools"] == {"read": 1}


def test_each_body_is_a_conversation_of_its_own_format(tmp_path):
    """Bodies in one file need not agree; they are named by their id or their number."""
    bodies = [{"messages": CHAT, "id": "first"}, {"messages": ANTHROPIC}, {"contents": GEMINI}]
    for text in (as_lines(bodies), json.dumps(bodies)):
        transcript = Plain().read(source_of(tmp_path, text))
        assert [conversation.format for conversation in transcript] == ["openai_chat", "anthropic", "gemini"]
        assert [conversation.id for conversation in transcript] == ["first", "chat:1", "chat:2"]


@pytest.mark.parametrize(
    ("body", "spoken", "prompt"),
    [
        ({"system": "Be kind.", "messages": [{"role": "user", "content": "hi"}]}, "anthropic", "Be kind."),
        (
            {"system": [{"type": "text", "text": "Be"}, {"type": "text", "text": "kind."}], "messages": ANTHROPIC},
            "anthropic",
            "Be\nkind.",
        ),
        ({"instructions": "Be kind.", "input": "hi"}, "openai_responses", "Be kind."),
        ({"systemInstruction": {"parts": [{"text": "Be kind."}]}, "contents": "hi"}, "gemini", "Be kind."),
        (
            {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]},
            "openai_chat",
            None,
        ),
    ],
)
def test_a_system_prompt_beside_the_messages_is_kept(tmp_path, body, spoken, prompt):
    """It tells the format where the messages do not, and plain words in place of a list are a user message."""
    (conversation,) = Plain().read(source_of(tmp_path, json.dumps(body)))
    assert (conversation.format, conversation.system) == (spoken, prompt)
    assert conversation.messages[-1 if prompt is None else 0].text == "hi"


def test_runs_of_the_agent_data_protocol_are_chat(tmp_path):
    """Its words for the assistant and for the text become chat's."""
    trajectory = [
        {"role": "system", "text": None, "system_prompt": "Be kind.", "mask": False},
        {"role": "user", "text": "hi", "system_prompt": None},
        {"role": "ai", "text": "yes?", "system_prompt": None},
    ]
    source = source_of(tmp_path, json.dumps([{"instance_id": "run", "trajectory": trajectory}]))
    transcript = Plain().read(source)
    (conversation,) = transcript
    assert Plain().recognizes(take_sample(source))
    assert (transcript.format, conversation.id) == ("openai-chat", "run")
    assert natives(conversation) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yes?"},
    ]


def test_time_and_model_are_taken_where_they_are_told(tmp_path):
    """A stored time is kept with its message, the body's model with what it said."""
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi", "timestamp": 1770163201000},
            {"role": "assistant", "content": "yes"},
        ],
    }
    (conversation,) = Plain().read(source_of(tmp_path, json.dumps(body)))
    assert [(entry.timestamp_ms, entry.model) for entry in conversation.entries] == [
        (1770163201000.0, None),
        (None, "m"),
    ]


def test_bad_lines_are_listed_and_the_rest_is_read(tmp_path):
    """A torn line, a line that is no object and one that is neither message nor body cost only themselves."""
    text = as_lines(CHAT[:1]) + '{"role": "us\n[1]\n{"level": "info"}\n' + as_lines(CHAT[1:])
    transcript = Plain().read(source_of(tmp_path, text))
    assert natives(transcript.conversations[0]) == CHAT
    assert sorted((problem.line, problem.reason.split(" (")[0]) for problem in transcript.problems) == [
        (2, "not JSON"),
        (3, "a record must be a JSON object, not a list"),
        (4, "neither a message nor a request body"),
    ]


def test_what_fits_no_format_is_listed(tmp_path):
    """A body whose messages no format knows does not hide the others."""
    bodies = [
        {"messages": [{"role": "nobody", "content": "hi"}]},
        {"messages": [7]},
        {"contents": [7]},
        {"messages": CHAT},
    ]
    transcript = Plain().read(source_of(tmp_path, as_lines(bodies)))
    assert [natives(conversation) for conversation in transcript] == [CHAT]
    assert [problem.line for problem in transcript.problems] == [1, 2, 3]


def test_a_torn_file_names_line_and_column(tmp_path):
    """Where a list is cut off within its first message there is nothing to read, and the error says where it ends."""
    with pytest.raises(TranscriptError, match=r"chat\.json is not JSON: .* line \d+, column \d+"):
        Plain().read(source_of(tmp_path, json.dumps(CHAT, indent=1)[:30]))


@pytest.mark.parametrize(
    "value", [[], {}, [1, 2], {"a": 1}, [{"level": "info"}], {"messages": []}, {"input": ["text to embed"]}]
)
def test_other_files_are_not_claimed(tmp_path, value):
    """Without a message of some format there is nothing to read."""
    assert not Plain().recognizes(take_sample(source_of(tmp_path, json.dumps(value))))


@pytest.mark.parametrize("value", [[], {}, {"messages": []}, {"messages": None}])
def test_a_file_that_says_nothing_is_empty(tmp_path, value):
    """Nothing said is no error."""
    assert counted(Plain().read(source_of(tmp_path, json.dumps(value))))["n_messages"] == 0


@needs_corpus
@pytest.mark.parametrize("row", corpus_rows("openai-chat"), ids=lambda row: row["path"])
def test_recorded_lists_are_counted_as_the_manifest_does(row):
    """Conversations and messages agree; these agents write their calls as text, which is not taken apart."""
    source = Source(corpus_path(row))
    transcript = Plain().read(source)
    assert Plain().recognizes(take_sample(source))
    assert transcript.format == "openai-chat"
    assert counted(transcript) == said_by(row)
