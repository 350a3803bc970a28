from redline import check
from redline.providers.laws.law import ExchangeDraft, Item
from redline.providers.laws.results import gather_results, misplaced_results, split_results
from tests.repair.histories import ANTHROPIC, CHAT, GEMINI, assistant, natives, result, tool, use, user

CALLS = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in ("a", "b")]
RESULTS = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("a", "b")]
TEXT = {"type": "text", "text": "and?"}
START = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": CALLS}]


def found(history):
    return [(problem.index, problem.part, problem.law) for problem in check(history, format="anthropic")]


def test_results_before_text_are_fine():
    """Text may follow the results in their message."""
    assert found([*START, {"role": "user", "content": [*RESULTS, TEXT]}]) == []


def test_result_behind_text_is_found():
    """A result after other content is refused."""
    assert found([*START, {"role": "user", "content": [RESULTS[0], TEXT, RESULTS[1]]}]) == [(2, 2, "front_results")]


def test_result_in_a_second_message_is_found():
    """All results belong to the very next message."""
    history = [*START, {"role": "user", "content": RESULTS[:1]}, {"role": "user", "content": RESULTS[1:]}]
    assert found(history) == [(3, 0, "front_results")]


FUNCTION_CALL = {"functionCall": {"name": "read", "args": {}}}
RESPONSE = {"functionResponse": {"name": "read", "response": {"output": "x"}}}


def counted(calls, responses):
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [FUNCTION_CALL] * calls},
        {"role": "user", "parts": [RESPONSE] * responses},
    ]
    return [(problem.index, problem.law) for problem in check(history, format="gemini")]


def test_as_many_responses_as_calls():
    """The turn after N calls holds N responses, no fewer and no more."""
    assert counted(2, 2) == []
    assert (1, "equal_counts") in counted(2, 1)
    assert (1, "equal_counts") in counted(1, 2)


def test_calls_without_a_next_turn():
    """Nothing follows them, so there are no responses."""
    history = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [FUNCTION_CALL]}]
    problems = [problem.found for problem in check(history, format="gemini") if problem.law == "equal_counts"]
    assert problems == ["1 calls, but 0 responses in the next turn"]


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
