from redline import check
from redline.testing import asks, conversation, says


def laws(messages, format):
    return {problem.law for problem in check(messages, format=format)}


def test_anthropic_ids_are_plain_names():
    """Anthropic refuses ids with other characters than letters, digits, - and _."""
    history = conversation("anthropic", [says("user", "hi"), *asks("read", {}, "x", id="functions.read:0")])
    assert laws(history, "anthropic") == {"well_formed_ids"}


def test_empty_id_is_found():
    """An empty id is no id."""
    history = conversation("ai_sdk", [says("user", "hi"), *asks("read", {}, "x", id="")])
    assert "well_formed_ids" in laws(history, "ai_sdk")


def test_gemini_may_go_without_ids():
    """Gemini matches by name where there is no id."""
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
    ]
    assert laws(history, "gemini") == set()


def test_openai_chat_wants_ids():
    """A call among the tool_calls needs an id, and so does its tool message; the older function_call has none."""
    call = {"type": "function", "function": {"name": "read", "arguments": "{}"}}
    nameless = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "name": "read", "content": "x"},
    ]
    assert laws(nameless, "openai_chat") == {"well_formed_ids"}
    older = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
        {"role": "function", "name": "read", "content": "x"},
    ]
    assert laws(older, "openai_chat") == set()
