import redline
from redline import check

HI = {"role": "user", "content": "hi"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def found(history, format):
    return [(problem.index, problem.law) for problem in check(history, format=format)]


def test_the_reasoning_itself_is_named():
    """It is the last part of its message."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "ok"}, THOUGHT]}
    assert [(problem.index, problem.part) for problem in check([HI, said, HI], format="anthropic")] == [(1, 1)]


def test_thinking_alone_is_found():
    """An Anthropic answer cannot end with thinking."""
    history = [HI, {"role": "assistant", "content": [THOUGHT]}, HI]
    assert found(history, "anthropic") == [(1, "reasoning_order")]
    said = [HI, {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "ok"}]}, HI]
    assert found(said, "anthropic") == []


def test_reasoning_item_needs_a_follower():
    """A Responses reasoning item is followed by an item of the model."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    assert found([HI, reasoning, answer], "openai_responses") == []
    assert found([HI, reasoning, reasoning, answer], "openai_responses") == []
    assert found([HI, reasoning], "openai_responses") == [(1, "reasoning_order")]
    assert found([HI, reasoning, HI], "openai_responses") == [(1, "reasoning_order")]


CALL = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "x"}
REASONED = {"type": "reasoning", "id": "rs_1", "summary": []}
ASKED = {"role": "user", "content": "go"}


def test_an_item_cut_off_from_its_reasoning_is_found_and_untied():
    """R163: what is said between reasoning and what it led to takes the reasoning out; then the id must go as well."""
    history = [ASKED, REASONED, ASKED, ASKED, CALL, OUTPUT]
    assert [problem.index for problem in redline.check(history, format="openai_responses")] == [1, 4]
    untied = {key: value for key, value in CALL.items() if key != "id"}
    assert redline.make_legal(history, format="openai_responses") == [ASKED, ASKED, ASKED, untied, OUTPUT]


def test_an_insert_leaves_no_id_that_asks_for_reasoning():
    """R163: a request after `insert` is one that the provider takes, also when more is said."""
    chat = redline.Conversation([ASKED, REASONED, CALL, OUTPUT], format="openai_responses")
    assert chat.request().messages == [ASKED, REASONED, CALL, OUTPUT]
    chat.process({"operation": "insert", "insert": {"position": 2, "messages": [ASKED]}})
    for _ in range(2):
        assert "fc_1" not in str(chat.request().messages)
        chat.add(ASKED)


def test_items_of_models_that_do_not_reason_keep_their_ids():
    """R163: without reasoning nothing is cut off."""
    history = [ASKED, CALL, OUTPUT, ASKED]
    assert redline.check(history, format="openai_responses") == []
