from redline.repair.sides import by_side
from tests.repair.histories import ANTHROPIC, GEMINI, assistant, result, use, user


def taken_apart(format, payload):
    return [message and message.native for message in by_side(format.read(payload), format)]


def test_message_in_order_is_itself():
    """Results of the user, and those that the provider gave itself, are where they belong."""
    hosted = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    for payload in (user(result("a")), assistant("x", use("a")), assistant(hosted, "found")):
        before, rest, behind = taken_apart(ANTHROPIC, payload)
        assert rest is payload
        assert before is behind is None


def test_result_of_an_earlier_call_goes_before():
    """It answers what came before this message; every field of its block stays."""
    block = {**result("a"), "cache_control": {"type": "ephemeral"}}
    assert taken_apart(ANTHROPIC, assistant("x", block)) == [user(block), assistant("x"), None]


def test_result_of_an_own_call_goes_behind():
    """A call and its result in one message become two."""
    assert taken_apart(ANTHROPIC, assistant(use("a"), result("a"), result("z"))) == [
        user(result("z")),
        assistant(use("a")),
        user(result("a")),
    ]


def test_whole_message_changes_sides():
    """A message of nothing but results was only said by the wrong side."""
    assert taken_apart(ANTHROPIC, assistant(result("a"))) == [user(result("a")), None, None]
    part = {"functionResponse": {"name": "read", "response": {}}}
    assert taken_apart(GEMINI, {"role": "model", "parts": [part]}) == [
        {"role": "user", "parts": [part]},
        None,
        None,
    ]
