from redline.repair.changes import ExchangeDraft, Item
from redline.repair.results import gather_results, misplaced_results, split_results
from tests.repair.histories import ANTHROPIC, CHAT, GEMINI, assistant, natives, result, tool, use, user

# --- on the side that gives results


def split(format, payload):
    return [message and message.native for message in split_results(format.read(payload), format)]


def test_message_in_order_is_itself():
    """Results of the user, and those that the provider gave itself, are where they belong."""
    hosted = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    for payload in (user(result("a")), assistant("x", use("a")), assistant(hosted, "found")):
        before, rest, after = split(ANTHROPIC, payload)
        assert rest is payload
        assert before is after is None
        assert not misplaced_results(ANTHROPIC.read(payload))


def test_result_of_an_earlier_call_goes_before():
    """It answers what came before this message; every field of its block stays."""
    block = {**result("a"), "cache_control": {"type": "ephemeral"}}
    assert split(ANTHROPIC, assistant("x", block)) == [user(block), assistant("x"), None]
    assert misplaced_results(ANTHROPIC.read(assistant("x", block)))


def test_result_of_an_own_call_goes_after():
    """A call and its result in one message become two."""
    assert split(ANTHROPIC, assistant(use("a"), result("a"), result("z"))) == [
        user(result("z")),
        assistant(use("a")),
        user(result("a")),
    ]


def test_whole_message_changes_sides():
    """A message of nothing but results was only said by the wrong side."""
    assert split(ANTHROPIC, assistant(result("a"))) == [user(result("a")), None, None]
    part = {"functionResponse": {"name": "read", "response": {}}}
    assert split(GEMINI, {"role": "model", "parts": [part]}) == [
        {"role": "user", "parts": [part]},
        None,
        None,
    ]


# --- in one message, in front


def gathered(format, heard):
    given = ExchangeDraft([], [Item(format.read(one), source) for source, one in enumerate(heard)], ())
    return gather_results(given, format)


def test_results_in_one_message_in_front_stay():
    """Such an exchange comes back as the same object."""
    given = ExchangeDraft([], [Item(ANTHROPIC.read(user(result("a"), result("b"), "x")), 0)], ())
    assert gather_results(given, ANTHROPIC) is given


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
