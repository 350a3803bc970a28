import pytest

from redline.laws.tool_names import ToolNames
from tests.laws.histories import broken_by, cases_of


@pytest.mark.parametrize("case", cases_of("tool_names"), ids=lambda case: case["id"])
def test_law_finds_its_cases(case):
    """What the table of providers' rules says to break this law is found by it, and by its rule."""
    assert broken_by(ToolNames(), case["messages"], case["format"])
    assert case["format"] in ToolNames.rules


def test_the_call_itself_is_named():
    """A flaw in a field of a block is the block's, wherever that is in the message."""
    call = {"type": "tool_use", "id": "a", "name": "", "input": {}}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "so"}, call]}]
    assert broken_by(ToolNames(), history, "anthropic") == [(1, 1)]
