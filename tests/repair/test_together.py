from redline.repair.together import Together
from redline.repair.values import Draft, Item
from tests.repair.histories import ANTHROPIC, CHAT, GEMINI, natives, result, tool, user


def gathered(format, heard):
    given = Draft([], [Item(format.read(one), source) for source, one in enumerate(heard)], ())
    return Together(format).gathered(given)


def test_results_in_one_message_in_front_stay():
    """The same exchange comes back."""
    given = Draft([], [Item(ANTHROPIC.read(user(result("a"), result("b"), "x")), 0)], ())
    assert Together(ANTHROPIC).gathered(given) is given


def test_results_of_several_messages_are_merged():
    """Into the first, where none says anything else; that is told of each that vanished."""
    after = gathered(ANTHROPIC, [user(result("a")), user(result("b")), user("go on")])
    assert natives(after.heard) == [user(result("a"), result("b")), user("go on")]
    assert [str(change) for change in after.changes] == [
        "message 0: the results of message 1 were merged into it",
        "message 1: its results were merged into message 0",
    ]


def test_message_with_other_words_takes_the_results():
    """So that the user speaks once; its own results come first."""
    after = gathered(ANTHROPIC, [user(result("a")), user("x", result("b"))])
    assert natives(after.heard) == [user(result("b"), result("a"), "x")]
    assert after.heard[0].source == 1


def test_results_are_brought_to_the_front():
    """Anthropic wants them before other blocks; Gemini does not ask."""
    after = gathered(ANTHROPIC, [user("x", result("a"))])
    assert natives(after.heard) == [user(result("a"), "x")]
    part = {"functionResponse": {"name": "read", "response": {}}}
    mixed = {"role": "user", "parts": [{"text": "x"}, part]}
    assert natives(gathered(GEMINI, [mixed]).heard) == [mixed]


def test_gemini_wants_all_responses_in_the_next_turn():
    """Responses in two turns become one turn."""
    turn = {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {}}}]}
    assert natives(gathered(GEMINI, [turn, turn]).heard) == [{"role": "user", "parts": turn["parts"] * 2}]


def test_each_result_is_a_message_elsewhere():
    """OpenAI's results stay apart."""
    assert natives(gathered(CHAT, [tool("a"), tool("b")]).heard) == [tool("a"), tool("b")]
