from redline import check

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
