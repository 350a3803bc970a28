import json

from redline import read_transcript
from redline.agents.claude_code.mender import ClaudeCodeLines
from redline.agents.mending.window import RepairedWindow
from redline.agents.transcripts.source import Source
from tests.agents.mending.sessions import claude_line, result, text, use, write


def lines_after(tmp_path, records, strategy="drop"):
    path = write(tmp_path, records)
    (conversation,) = read_transcript(path)
    window = RepairedWindow(conversation, strategy)
    lines = ClaudeCodeLines(Source(path), window)
    return lines, window, [lines.lines_of(repaired) for repaired in window.repaired]


def numbers(made):
    return [[line.origin and line.origin.line for line in one] for one in made]


def test_a_message_as_it_was_has_its_lines(tmp_path):
    """Each line with its own blocks; plain words are a line without any."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", text("I look."), id="m"),
        claude_line("3", "2", "assistant", use("a"), id="m"),
        claude_line("4", "3", content=result("a")),
    ]
    lines, _, made = lines_after(tmp_path, records)
    assert numbers(made) == [[1], [2, 3], [4]]
    assert [line.blocks for line in made[1]] == [text("I look."), use("a")]
    assert lines.blocks[made[0][0].origin] == []
    assert all(line.stays and lines.holds(line.origin, line.blocks) for one in made for line in one)


def test_each_answer_is_a_line(tmp_path):
    """After the results that are there, or alone."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a", "b", "c")),
        claude_line("3", "2", content=result("b")),
    ]
    assert numbers(lines_after(tmp_path, records, "answer")[2]) == [[1], [2], [3, None, None]]
    assert numbers(lines_after(tmp_path, records[:2], "answer")[2]) == [[1], [2], [None, None, None]]


def test_what_must_come_between_the_blocks_of_a_line_goes_into_it(tmp_path):
    """An answer comes before the words that follow the results in the same line."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a", "b")),
        claude_line("3", "2", content=[*result("a"), *text("wait")]),
    ]
    lines, _, made = lines_after(tmp_path, records, "answer")
    assert numbers(made) == [[1], [2], [3]]
    line = json.loads(lines.write(made[2][0].origin, made[2][0].blocks))
    assert [block.get("tool_use_id", "words") for block in line["message"]["content"]] == ["a", "b", "words"]


def test_results_in_front_take_the_words_to_the_last_line(tmp_path):
    """Words between the results of two lines come after both."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a", "b")),
        claude_line("3", "2", content=[*result("a"), *text("wait")]),
        claude_line("4", "3", content=result("b")),
    ]
    _, _, made = lines_after(tmp_path, records)
    assert numbers(made) == [[1], [2], [3, 4]]
    assert [block["type"] for block in made[2][1].blocks] == ["tool_result", "text"]


def test_a_line_cannot_change_sides(tmp_path):
    """Results that an assistant's line gave get a line of the user's."""
    records = [claude_line("1", None), claude_line("2", "1", "assistant", [*use("a"), *result("a")])]
    assert numbers(lines_after(tmp_path, records)[2]) == [[1], [2], [None]]


def test_plain_words_among_lines_are_one_block(tmp_path):
    """A line that says plain words keeps them while others of its message go."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", "I look.", id="m"),
        claude_line("3", "2", "assistant", use("a"), id="m"),
    ]
    lines, _, made = lines_after(tmp_path, records, "strip")
    (kept,) = made[1]
    assert lines.write(kept.origin, kept.blocks) == json.dumps(records[1]).encode()


def test_only_what_changes_is_written(tmp_path):
    """Blocks that go leave the spelling of the others alone."""
    records = [claude_line("1", None), claude_line("2", "1", "assistant", [*text("x"), *use("a"), *text("y")])]
    lines, window, _ = lines_after(tmp_path, records)
    (line,), blocks = window.positions[1], window.messages[1].native["content"]
    after = lines.write(line, [blocks[0], blocks[2]])
    assert after == json.dumps(claude_line("2", "1", "assistant", [*text("x"), *text("y")])).encode()
