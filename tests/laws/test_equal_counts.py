from redline import check

CALL = {"functionCall": {"name": "read", "args": {}}}
RESPONSE = {"functionResponse": {"name": "read", "response": {"output": "x"}}}


def found(calls, responses):
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [CALL] * calls},
        {"role": "user", "parts": [RESPONSE] * responses},
    ]
    return [(problem.index, problem.law) for problem in check(history, format="gemini")]


def test_as_many_responses_as_calls():
    """The turn after N calls holds N responses, no fewer and no more."""
    assert found(2, 2) == []
    assert (1, "equal_counts") in found(2, 1)
    assert (1, "equal_counts") in found(1, 2)


def test_calls_without_a_next_turn():
    """Nothing follows them, so there are no responses."""
    history = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [CALL]}]
    problems = [problem.found for problem in check(history, format="gemini") if problem.law == "equal_counts"]
    assert problems == ["1 calls, but 0 responses in the next turn"]
