from redline import read_transcript
from redline.mending.window import Window
from tests.mending.sessions import claude_line, result, text, use, write


def window_of(tmp_path, records, strategy="drop"):
    (conversation,) = read_transcript(write(tmp_path, records))
    return Window(conversation, strategy)


def test_only_what_goes_on_is_looked_at(tmp_path):
    """The messages since the last compaction."""
    boundary = claude_line("b", None, "system", subtype="compact_boundary")
    window = window_of(tmp_path, [claude_line("1", None, "assistant", use("a")), boundary, claude_line("2", "b")])
    assert (len(window.messages), window.is_legal, window.repaired) == (1, True, window.messages)


def test_what_moves_up_does_not_stay(tmp_path):
    """A late result leaves its place; those it passes stay where they are."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a")),
        claude_line("3", "2", content="wait"),
        claude_line("4", "3", content=result("a")),
    ]
    window = window_of(tmp_path, records)
    assert [(step.item.source, step.stays) for step in window.steps] == [(0, True), (1, True), (3, False), (2, True)]
    assert window.gone == []


def test_of_the_pieces_of_a_message_its_own_side_stays(tmp_path):
    """Results that an assistant gave are another's; the rest is still the assistant's."""
    window = window_of(tmp_path, [claude_line("1", None), claude_line("2", "1", "assistant", [*use("a"), *result("a")])])
    assert [(step.item.source, step.stays) for step in window.steps] == [(0, True), (1, True), (1, False)]


def test_reasons_are_those_of_the_repair(tmp_path):
    """All of a message, or those for the calls that are meant."""
    window = window_of(
        tmp_path, [claude_line("1", None), claude_line("2", "1", "assistant", [*text("x"), *use("a", "b")])], "strip"
    )
    assert window.why(1, ["b"]) == "the call 'b' of Bash was removed: it was never answered"
    assert window.why(1) == "; ".join(window.why(1, [name]) for name in ("a", "b"))
    assert window.why(0) == "changed with its neighbours"
    fix = window.fix("change", 1, window.positions[1][0], place=7)
    assert (fix.line, fix.message, fix.tool, fix.call_id, fix.text) == (2, 7, "Bash", "b", "x")


def test_what_is_added_says_for_whom(tmp_path):
    """An answer names its call, a first line says why it is there, and what moved says so."""
    window = window_of(tmp_path, [claude_line("1", "lost", "assistant", use("a"))], "answer")
    first, answer = (window.added(step.item, 0) for step in window.steps if not step.stays)
    assert (first.why, first.tool) == ("the user must begin", None)
    assert (answer.why, answer.tool) == ("the call 'a' of Bash is answered as interrupted: it had no result", "Bash")
    assert window.call("a").input == {"command": "a"}
    assert window.call("b") is None


def test_messages_may_be_given_in_another_spelling(tmp_path):
    """A message that the repair does not touch is the very one that was given."""
    (conversation,) = read_transcript(write(tmp_path, [claude_line("1", None)]))
    messages = list(conversation.messages)
    window = Window(conversation, "drop", messages)
    assert window.is_unchanged(window.steps[0].item)
    assert window.messages[0] is messages[0]
