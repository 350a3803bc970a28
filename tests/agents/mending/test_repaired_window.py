from redline import read_transcript
from redline.agents.mending.window import BlockOrigins, RepairedWindow
from redline.agents.transcripts import Position, RecordedConversation
from redline.conversation.lists import check
from redline.providers import FORMATS
from tests.agents.mending.sessions import claude_line, result, text, use, write


def window_of(tmp_path, records, strategy="drop"):
    (conversation,) = read_transcript(write(tmp_path, records))
    return RepairedWindow(conversation, strategy)


def test_only_what_goes_on_is_looked_at(tmp_path):
    """The messages since the last compaction."""
    boundary = claude_line("b", None, "system", subtype="compact_boundary")
    window = window_of(tmp_path, [claude_line("1", None, "assistant", use("a")), boundary, claude_line("2", "b")])
    assert (len(window.messages), window.is_legal, window.result) == (1, True, window.messages)


def test_what_moves_up_does_not_stay(tmp_path):
    """A late result leaves its place; those it passes stay where they are."""
    records = [
        claude_line("1", None),
        claude_line("2", "1", "assistant", use("a")),
        claude_line("3", "2", content="wait"),
        claude_line("4", "3", content=result("a")),
    ]
    window = window_of(tmp_path, records)
    assert [(one.source, one.stays) for one in window.repaired] == [(0, True), (1, True), (3, False), (2, True)]


def test_of_the_pieces_of_a_message_its_own_side_stays(tmp_path):
    """Results that an assistant gave are another's; the rest is still the assistant's."""
    window = window_of(tmp_path, [claude_line("1", None), claude_line("2", "1", "assistant", [*use("a"), *result("a")])])
    assert [(one.source, one.stays) for one in window.repaired] == [(0, True), (1, True), (1, False)]


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
    first, answer = (window.fix_for_added(one, 0) for one in window.repaired if not one.stays)
    assert (first.why, first.tool) == ("the user must begin", None)
    assert (answer.why, answer.tool) == ("the call 'a' of Bash is answered as interrupted: it had no result", "Bash")
    assert window.calls["a"].input == {"command": "a"}
    assert "b" not in window.calls


def test_messages_may_be_given_in_another_spelling(tmp_path):
    """A message that the repair does not touch is the very one that was given."""
    (conversation,) = read_transcript(write(tmp_path, [claude_line("1", None)]))
    messages = list(conversation.messages)
    window = RepairedWindow(conversation, "drop", messages)
    assert window.repaired[0].is_unchanged
    assert window.messages[0] is messages[0]


# --- a window of which nothing is left


def test_what_would_take_the_place_of_a_conversation(tmp_path):
    """An earlier window, a branch or a sub-agent; a file of one conversation has nothing else."""
    alone = [claude_line("1", None)]
    branch = [claude_line("x", None), claude_line("1", None)]
    subagent = [claude_line("s", None, isSidechain=True), claude_line("1", None)]
    earlier = [claude_line("0", None), claude_line("b", None, "system", subtype="compact_boundary"), claude_line("1", "b")]
    for records, expected in ((alone, False), (branch, True), (subagent, True), (earlier, True)):
        assert window_of(tmp_path, records).would_be_replaced is expected


def test_a_placeholder_is_legal_alone():
    """In every format it can be sent, and the fix says where it is."""
    for name in FORMATS:
        window = RepairedWindow(RecordedConversation("empty", name, ()), "drop")
        message, fix = window.make_placeholder(Position(0, 1, 3))
        assert check([message.native], format=name) == []
        assert fix.place == "after line 3"


# --- inside a message


def test_a_block_is_known_by_itself():
    """Two blocks that say the same are not mistaken for each other."""
    first, second = {"type": "text", "text": "x"}, {"type": "text", "text": "x"}
    origins = BlockOrigins()
    origins.add(first, "here")
    origins.add(second, "there")
    assert (origins.find(second), origins.find(first)) == ("there", "here")


def test_a_copy_with_another_id_is_known_by_what_it_shares():
    """As a format makes it when it renames a call; asked twice, the answer is the same."""
    anthropic = FORMATS["anthropic"]
    block = {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}
    renamed = anthropic.rename(anthropic.read({"role": "assistant", "content": [block]}), {0: "b"}).native["content"][0]
    origins = BlockOrigins()
    origins.add(block, "here")
    assert renamed is not block
    assert [origins.find(renamed), origins.find(renamed)] == ["here", "here"]


def test_what_the_repair_made_comes_from_nowhere():
    """A block that shares nothing with those that were added has no place."""
    origins = BlockOrigins()
    origins.add({"type": "text", "text": "x"}, "here")
    assert origins.find({"type": "tool_result", "tool_use_id": "a", "content": "words"}) is None
