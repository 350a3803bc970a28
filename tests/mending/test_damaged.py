"""A damaged session file of any agent keeps every message that can still be read, or the report names it."""

import json
import logging
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redline
from redline import read_transcript
from redline.mending import LostRecord
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.mending.sessions import (
    STRATEGIES,
    as_lines,
    claude_file,
    claude_line,
    codex_file,
    gemini_call,
    gemini_lines,
    gemini_record,
    goes_on,
    neovate_file,
    result,
    sound,
    text,
    use,
    write,
)


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
@settings(max_examples=15)
@given(random=st.randoms(use_true_random=False), rounds=st.integers(2, 8), strategy=st.sampled_from(STRATEGIES))
def test_what_can_be_read_is_kept_or_named(tmp_path_factory, agent, damage, random, rounds, strategy):
    """R131: after any damage to a file of lines the repair keeps every whole line, or names it; it is legal and for good."""
    content = DAMAGE[damage](LINES[agent](rounds), random)
    path = write(tmp_path_factory.mktemp("damaged"), content)
    mending = sound(path, strategy)
    assert missing_words(path, mending) == set()


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
