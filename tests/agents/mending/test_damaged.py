"""A damaged session file of any agent keeps every message that can still be read, or the report names it."""

import contextlib
import json
import logging
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline import read_transcript
from redline.agents.menders import LostRecord, mend_transcript
from redline.errors import ExecutionError, TranscriptError, ValidationError
from tests.agents.mending.sessions import (
    STRATEGIES,
    as_lines,
    claude_file,
    claude_line,
    codex_file,
    gemini_call,
    gemini_document,
    gemini_lines,
    gemini_record,
    goes_on,
    neovate_file,
    opencode_file,
    opencode_message,
    opencode_tool,
    result,
    sound,
    text,
    use,
    write,
)
from tests.cli.run import redline as run_redline
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.effort import tries


@pytest.fixture(autouse=True, scope="module")
def quiet():
    """Thousands of warnings would hide the one that matters."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


# --- sessions of each agent, in which every message has words of its own


def anthropic_history(rounds):
    said = [{"role": "user", "content": "say-start"}]
    for number in range(rounds):
        said.append({"role": "assistant", "content": [*text(f"say-look{number}"), *use(f"call-{number}")]})
        said.append({"role": "user", "content": result(f"call-{number}")})
        if number % 3 == 2:
            said += [
                {"role": "assistant", "content": text(f"say-done{number}")},
                {"role": "user", "content": f"say-and{number}"},
            ]
    return [*said, {"role": "assistant", "content": text("say-end")}]


def chat_history(rounds):
    said = [{"role": "user", "content": "say-start"}]
    for number in range(rounds):
        asked = {"id": f"call-{number}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        said.append({"role": "assistant", "content": f"say-look{number}", "tool_calls": [asked]})
        said.append({"role": "tool", "tool_call_id": f"call-{number}", "content": f"text of {number}"})
    return [*said, {"role": "assistant", "content": "say-end"}]


def responses_history(rounds):
    said = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "say-start"}]}]
    for number in range(rounds):
        words = [{"type": "output_text", "text": f"say-look{number}"}]
        said.append({"type": "message", "role": "assistant", "content": words})
        said.append({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": f"call-{number}"})
        said.append({"type": "function_call_output", "call_id": f"call-{number}", "output": "text"})
    return said


def ai_sdk_history(rounds):
    said = [{"role": "user", "content": "say-start"}]
    for number in range(rounds):
        asked = {"type": "tool-call", "toolCallId": f"call-{number}", "toolName": "bash", "input": {}}
        answered = {"type": "tool-result", "toolCallId": f"call-{number}", "toolName": "bash"}
        answered["output"] = {"type": "text", "value": "ok"}
        said.append({"role": "assistant", "content": [{"type": "text", "text": f"say-look{number}"}, asked]})
        said.append({"role": "tool", "content": [answered]})
    return [*said, {"role": "assistant", "content": [{"type": "text", "text": "say-end"}]}]


def gemini_records(rounds):
    said = [gemini_record("g", "user", "say-start")]
    for number in range(rounds):
        call = gemini_call(f"call-{number}", f"call-{number}")
        said.append(gemini_record(f"g{number}", "gemini", f"say-look{number}", toolCalls=[call]))
        said.append(gemini_record(f"h{number}", "user", f"say-and{number}"))
    return said


def with_progress(content):
    """A Claude Code file in which lines without a message lie in the chain, as hooks and attachments do."""
    records = [json.loads(line) for line in content.splitlines()]
    placed = []
    for number, record in enumerate(records):
        if number % 4 == 2:
            placed.append(claude_line(f"p{number}", record["parentUuid"], "progress"))
            record["parentUuid"] = f"p{number}"
        placed.append(record)
    return as_lines(placed)


LINES = {
    "claude-code": lambda rounds: claude_file(anthropic_history(rounds), is_split=False),
    "claude-code, a line for each block": lambda rounds: claude_file(anthropic_history(rounds), is_split=True),
    "claude-code, with progress": lambda rounds: with_progress(claude_file(anthropic_history(rounds), is_split=False)),
    "codex": lambda rounds: codex_file(responses_history(rounds), is_compacted=False),
    "neovate": lambda rounds: neovate_file(ai_sdk_history(rounds)),
    "gemini-cli": lambda rounds: gemini_lines(gemini_records(rounds)),
    "lines of chat": lambda rounds: as_lines(chat_history(rounds)),
    "lines of anthropic": lambda rounds: as_lines(anthropic_history(rounds)),
}

# --- damage


def remove_lines(content, random):
    lines = content.splitlines(keepends=True)
    for _ in range(random.randint(1, 3)):
        del lines[random.randrange(len(lines))]
    return b"".join(lines)


def truncate_line(content, random):
    lines = content.splitlines(keepends=True)
    number = random.randrange(len(lines))
    lines[number] = lines[number][: random.randrange(len(lines[number]))] + b"\n"
    return b"".join(lines)


def glue_torn_line(content, random):
    """A crash tore a line, and the agent went on right after it."""
    lines = content.splitlines(keepends=True)
    number = random.randrange(len(lines) - 1)
    lines[number] = lines[number][: random.randrange(len(lines[number]))].rstrip(b"\n")
    return b"".join(lines)


def duplicate_lines(content, random):
    lines = content.splitlines(keepends=True)
    number = random.randrange(len(lines))
    lines.insert(random.randint(number, len(lines)), lines[number])
    return b"".join(lines)


def swap_lines(content, random):
    lines = content.splitlines(keepends=True)
    number = random.randrange(len(lines) - 1)
    lines[number : number + 2] = reversed(lines[number : number + 2])
    return b"".join(lines)


def tear(content, random):
    return content[: random.randrange(len(content) // 2, len(content))]


def fill_with_zeros(content, random):
    """A power cut: blocks of zeros at the end, in place of a line, or before one."""
    lines = content.splitlines(keepends=True)
    number, zeros = random.randrange(len(lines)), b"\0" * random.choice([1, 7, 4096])
    match random.choice(["end", "instead", "before"]):
        case "end":
            return content + zeros
        case "instead":
            lines[number] = zeros + b"\n"
        case _:
            lines[number] = zeros + lines[number]
    return b"".join(lines)


def mark_order(content, random):
    return b"\xef\xbb\xbf" + content


def break_lines_as_windows(content, random):
    return content.replace(b"\n", b"\r\n")


def mix_encodings(content, random):
    """A byte that is no UTF-8 in the words of a message."""
    at = random.choice([at for at in range(len(content)) if content.startswith(b"say-", at)] or [0])
    return content[:at] + b"\xe9" + content[at:]


DAMAGE = {
    one.__name__: one
    for one in (
        remove_lines,
        truncate_line,
        glue_torn_line,
        duplicate_lines,
        swap_lines,
        tear,
        fill_with_zeros,
        mark_order,
        break_lines_as_windows,
        mix_encodings,
    )
}

# --- what must hold


def markers_by_line(content):
    """By its number the words and calls of each line that is whole, whatever is on the line before it."""
    found = {}
    for number, line in enumerate(content.split(b"\n"), 1):
        for start in (at for at in range(len(line)) if line.startswith((b'{"', b"{ "), at)):
            try:
                json.loads(line[start:].decode("utf-8", "replace"))
            except ValueError:
                continue
            found[number] = markers_in(line[start:].decode("utf-8", "replace"))
            break
    return found


def markers_in(words):
    return set(re.findall(r"say-[a-z]+[0-9]*|call-[0-9]+", words))


def markers_said(messages):
    found = set()
    for message in messages:
        found |= markers_in(json.dumps([str(part) for part in message.parts]))
    return found


def report_of(mending):
    """The lines and the words that the report names."""
    lines = {fix.line for fix in mending.fixes} | {loss.line for loss in mending.losses}
    words = markers_in(" ".join([*map(str, mending.fixes), *map(str, mending.losses)]))
    return lines, words


def missing_words(path, mending):
    """What a whole line of the damaged file says, is not in the repaired conversation, and is not named."""
    said = set().union(*(markers_said(messages) for messages in mending.promised))
    lines, words = report_of(mending)
    return {
        marker
        for line, markers in markers_by_line(path.read_bytes()).items()
        for marker in markers
        if marker not in said and marker not in words and line not in lines
    }


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("agent", LINES)
@tries(15)
@given(random=st.randoms(use_true_random=False), rounds=st.integers(2, 8), strategy=st.sampled_from(STRATEGIES))
def test_what_can_be_read_is_kept_or_named(tmp_path_factory, agent, damage, random, rounds, strategy):
    """R131: after any damage to a file of lines the repair keeps every whole line, or names it; it is legal and for good."""
    content = DAMAGE[damage](LINES[agent](rounds), random)
    path = write(tmp_path_factory.mktemp("damaged"), content)
    mending = sound(path, strategy)
    assert missing_words(path, mending) == set()


# --- JSON documents


def opencode_messages(rounds):
    said = [opencode_message("user", {"type": "text", "text": "say-start"})]
    for number in range(rounds):
        words = {"type": "text", "text": f"say-look{number}"}
        said.append(opencode_message("assistant", words, opencode_tool(f"call-{number}", "completed", output="text")))
    return said


def cline_file(messages):
    top = {"version": 1, "updated_at": "2026-07-15T05:42:04Z", "agent": "lead", "sessionId": "s"}
    return json.dumps({**top, "messages": messages, "system_prompt": "Be brief."}).encode()


def on_one_line(content):
    return json.dumps(json.loads(content)).encode()


DOCUMENTS = {
    "chat": lambda rounds: (json.dumps(chat_history(rounds)).encode(), chat_history(rounds)),
    "chat, indented": lambda rounds: (json.dumps(chat_history(rounds), indent=2).encode(), chat_history(rounds)),
    "anthropic body": lambda rounds: (
        json.dumps({"model": "m", "messages": anthropic_history(rounds), "max_tokens": 9}).encode(),
        anthropic_history(rounds),
    ),
    "responses body": lambda rounds: (
        json.dumps({"input": responses_history(rounds), "model": "m"}).encode(),
        responses_history(rounds),
    ),
    "ai sdk": lambda rounds: (json.dumps(ai_sdk_history(rounds)).encode(), ai_sdk_history(rounds)),
    "opencode": lambda rounds: (opencode_file(opencode_messages(rounds)), opencode_messages(rounds)),
    "opencode, one line": lambda rounds: (on_one_line(opencode_file(opencode_messages(rounds))), opencode_messages(rounds)),
    "gemini-cli": lambda rounds: (gemini_document(gemini_records(rounds)), gemini_records(rounds)),
    "gemini-cli, one line": lambda rounds: (on_one_line(gemini_document(gemini_records(rounds))), gemini_records(rounds)),
}


def whole_items(content, items):
    """The items that are still there, byte for byte, however they are spaced."""
    text = "".join(content.decode("latin-1").split())
    return [item for item in items if "".join(json.dumps(item).split()) in text]


def overwrite(content, random, middle):
    """A power cut left zeros, or a disk something else, in place of some bytes."""
    length = random.choice([1, 20, 300])
    put = random.choice([b"\0" * length, b'x"{]' * length, b"}" * length])
    return content[:middle] + put + content[middle + len(put) :]


DOCUMENT_DAMAGE = {
    "tear": lambda content, _, middle: content[:middle],
    "tear, and zeros": lambda content, _, middle: content[:middle] + b"\0" * 4096,
    "lose bytes": lambda content, random, middle: content[:middle] + content[middle + random.choice([1, 2, 30, 200]) :],
    "overwrite": overwrite,
    "two places": lambda content, random, middle: overwrite(
        content[: middle // 2] + content[middle // 2 + 3 :], random, middle
    ),
    "something after the end": lambda content, _, middle: content + content[middle:],
    "zeros before": lambda content, *_: b"\0" * 4096 + content,
}
WHOLE_AROUND_IT = frozenset({"tear", "tear, and zeros", "something after the end", "zeros before"})


@pytest.mark.parametrize("damage", DOCUMENT_DAMAGE)
@pytest.mark.parametrize("agent", DOCUMENTS)
@tries(8)
@given(random=st.randoms(use_true_random=False), rounds=st.integers(3, 8), strategy=st.sampled_from(STRATEGIES))
def test_what_can_be_read_of_a_document_is_kept_or_named(tmp_path_factory, agent, damage, random, rounds, strategy):
    """R131: after damage to a JSON document its whole messages are read; the repair keeps or names each, and is legal."""
    content, items = DOCUMENTS[agent](rounds)
    # After the first message: where the head is lost, nobody can tell any more whose the file is.
    head = content.index(b"say-start") + 200
    middle = random.randrange(head, len(content))
    damaged = DOCUMENT_DAMAGE[damage](content, random, middle)
    path = write(tmp_path_factory.mktemp("damaged"), damaged, name="session.json")
    with contextlib.suppress(ValueError):
        json.loads(damaged.decode("latin-1"), strict=False)
        return  # what is JSON all the same is not damaged as a document
    # Damage may make one message of several that no parser can tell from a message: what is before it must be there.
    sure = damaged if damage in WHOLE_AROUND_IT else damaged[: middle // 2]
    try:
        transcript = read_transcript(path)
    except TranscriptError:  # too many of the few messages are no messages any more
        assert damage not in WHOLE_AROUND_IT
        return
    assert transcript.problems
    said = set().union(*(markers_said(conversation.messages) for conversation in transcript))
    assert {marker for item in whole_items(sure, items) for marker in markers_in(json.dumps(item))} <= said
    try:
        mending = sound(path, strategy)
    except ExecutionError:  # a role or a field of which bytes are missing: nothing is written
        assert damage not in WHOLE_AROUND_IT
        return
    assert mending.losses
    if damage in WHOLE_AROUND_IT:
        _, words = report_of(mending)
        assert said <= set().union(*(markers_said(messages) for messages in mending.promised)) | words


@pytest.mark.parametrize("agent", DOCUMENTS)
def test_a_document_torn_at_any_byte_keeps_its_whole_messages(tmp_path, agent):
    """R131: wherever the file ends, all messages before that are read; before the first, an error says what is wrong."""
    content, items = DOCUMENTS[agent](3)
    for end in range(1, len(content)):
        path = write(tmp_path, content[:end], name="session.json")
        left = {marker for item in whole_items(content[:end], items) for marker in markers_in(json.dumps(item))}
        if not left:
            with pytest.raises(TranscriptError, match="Was it cut off"):
                read_transcript(path)
            continue
        transcript = read_transcript(path)
        assert markers_said(transcript.conversations[0].messages) == left
        assert transcript.problems


def test_a_torn_document_is_repaired_in_place_with_a_backup(tmp_path):
    """R131: `redline repair --in-place` closes the document, answers the open call, says what is lost, keeps the old file."""
    content, _ = DOCUMENTS["chat"](4)
    torn = content[: content.index(b"text of 3")]
    path = write(tmp_path, torn, name="session.json")
    shown = run_redline("repair", path, "--in-place")
    assert shown.returncode == 0, shown.stderr
    assert "that was cut off with the end of the file" in shown.stdout
    assert "1 call answered as interrupted; 1 place where something is lost" in shown.stdout
    messages = json.loads(path.read_bytes())
    assert len(messages) == 9
    assert messages[:8] == chat_history(4)[:8]
    assert messages[8]["tool_call_id"] == "call-3"
    assert path.with_name("session.json.bak").read_bytes() == torn


def test_a_document_nobody_knows_any_more_says_what_could_be_read(tmp_path):
    """R131: messages without the description of their session are counted, and the error says what to do."""
    content, _ = DOCUMENTS["opencode"](4)
    path = write(tmp_path, content[content.index(b'"messages"') + 12 :], name="session.json")
    with pytest.raises(TranscriptError, match=r"5 records could be read.*Take the list of messages out of it"):
        read_transcript(path)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_cline_is_read_and_its_refusal_says_what_to_do(tmp_path, strategy):
    """R131: of a torn session of Cline the messages are read; the refusal to repair it names what can be done."""
    content = cline_file(anthropic_history(4))
    for end in range(content.index(b"say-look1"), len(content), 7):
        path = write(tmp_path, content[:end], name="session.json")
        transcript = read_transcript(path)
        assert transcript.format == "cline-sdk"
        left = {one for item in whole_items(content[:end], anthropic_history(4)) for one in markers_in(json.dumps(item))}
        assert markers_said(transcript.conversations[0].messages) == left
    with pytest.raises(ValidationError, match=r"redline export .*session\.json --write"):
        mend_transcript(path, strategy=strategy)


# --- Claude Code, a line missing


def session(rounds, *gone):
    """A prompt, so many calls with their results, and an answer; without some of its lines."""
    records = [claude_line("u", None, content="say-start")]
    for number in range(rounds):
        parent = records[-1]["uuid"]
        records.append(claude_line(f"a{number}", parent, "assistant", use(f"call-{number}"), id=f"m{number}"))
        records.append(claude_line(f"r{number}", f"a{number}", content=result(f"call-{number}")))
    records.append(claude_line("end", records[-1]["uuid"], "assistant", text("say-end"), id="m"))
    return [record for record in records if record["uuid"] not in gone]


def test_a_missing_result_does_not_cut_the_conversation(tmp_path):
    """R131: of 112 lines one result is gone: 112 messages go on, the call is answered, and the gap is named."""
    path = write(tmp_path, session(55, "r27"))
    mending = sound(path, "answer")
    assert [len(messages) for messages in mending.promised] == [112]
    assert mending.losses == (LostRecord(f"{_missing('r27', 57)}. It follows line 56 now", 57),)
    assert "1 call answered as interrupted" in mending.summary
    assert "1 place where something is lost" in mending.summary
    assert [fix.line for fix in mending.fixes] == [56, 57]
    links = {line["uuid"]: line["parentUuid"] for line in map(json.loads, mending.content.splitlines())}
    at, steps = "end", 0
    while at is not None:  # as Claude Code itself goes up, which knows nothing of the order of lines
        at, steps = links[at], steps + 1
    assert steps == 112


@pytest.mark.parametrize("gone", [("a3",), ("u",), ("r3", "a4"), ("a3", "r3"), ("r1", "r3", "a6"), ("u", "a0", "r0")])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_any_missing_line_leaves_all_others(tmp_path, gone, strategy):
    """R131: an answer, a prompt, the first line, several: what hangs on the missing line stays, or a fix names it."""
    path = write(tmp_path, session(8, *gone))
    mending = sound(path, strategy)
    assert missing_words(path, mending) == set()
    assert len(mending.losses) >= 1
    assert "say-end" in markers_said(mending.promised[0])


def test_a_missing_line_between_messages_is_joined_too(tmp_path):
    """R131: a line of progress or an attachment lies in the chain as messages do."""
    path = write(tmp_path, with_progress(claude_file(anthropic_history(6), is_split=False)))
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if b'"progress"' not in line]
    path.write_bytes(b"".join(lines))
    whole = [message.text for message in read_transcript(write(tmp_path, b"".join(lines))).conversations[0].messages]
    assert [message.text for message in goes_on(path)] == whole
    assert missing_words(path, sound(path, "answer")) == set()
    assert len(whole) == len(lines)


def test_a_sub_agent_that_lost_a_line_is_still_one(tmp_path):
    """R131: its lines are joined to lines of its own, not to those of the conversation or of another sub-agent."""
    records = [claude_line("1", None), claude_line("2", "1", "assistant", text("ok"), id="m")]
    for name in "ab":
        chain = [claude_line(f"{name}{number}", f"{name}{number - 1}" if number else None) for number in range(4)]
        records += [{**line, "isSidechain": True, "agentId": name} for line in chain if line["uuid"] != f"{name}1"]
    transcript = read_transcript(write(tmp_path, records))
    (conversation,) = transcript
    assert [(one.id, len(one.entries)) for one in conversation.subagents] == [("a", 3), ("b", 3)]
    assert [problem.line for problem in transcript.problems] == [4, 7]


def test_a_summary_whose_boundary_is_missing_still_begins_a_window(tmp_path):
    """R131: what was summarised is not sent again because the line before the summary is gone."""
    records = [*session(3), claude_line("s", "gone", content="say-summary", isCompactSummary=True), claude_line("t", "s")]
    path = write(tmp_path, records)
    assert [message.text for message in goes_on(path)] == ["say-summary", "hi"]
    assert sound(path).fixes == ()


def test_what_is_lost_is_said_by_every_door(tmp_path, caplog):
    """R131: `redline.open` keeps the conversation and logs the gap; the transcript lists it."""
    logging.disable(logging.NOTSET)
    path = write(tmp_path, session(8, "r3"))
    with redline.open(path) as conversation:
        assert len(conversation.all_messages) == 17
    assert "at least one line is missing before line 9" in caplog.text
    assert any("line 9" in str(problem) for problem in read_transcript(path).problems)


def _missing(parent, line):
    return f"at least one line is missing before line {line}: its parent {parent!r} is not in the file"


@needs_corpus
@pytest.mark.parametrize(
    "row", [row for row in corpus_rows() if row["bytes"] < 300_000], ids=lambda row: Path(row["path"]).stem
)
def test_a_recorded_session_that_lost_a_line_keeps_the_others(tmp_path, row):
    """R131: whatever line of a recorded session is gone, the others are read, or named as what cannot be."""
    if not row["path"].endswith(".jsonl"):
        pytest.skip("not a file of lines")
    random = Random(row["path"])
    lines = corpus_path(row).read_bytes().splitlines(keepends=True)
    before = lines_said(read_transcript(corpus_path(row)))
    if len(before) < 3:
        pytest.skip("too short to lose anything")
    gone = random.choice(sorted(before)[1:])
    after = read_transcript(write(tmp_path, b"".join([*lines[: gone - 1], *lines[gone:]])))
    left = {line if line < gone else line - 1 for line in before if line != gone}
    assert left <= lines_said(after) | {problem.line for problem in after.problems}


def lines_said(transcript):
    """The lines of the active path."""
    return {position.line for one in transcript for entry in one.entries for position in entry.positions}
