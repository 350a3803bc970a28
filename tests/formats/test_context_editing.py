from redline import Budget
from redline.formats.context_editing import CONTEXT_EDITING_BETA, clear_tool_uses


def test_the_field_is_as_the_provider_wants_it():
    """Each setting is where Anthropic's documentation has it."""
    field = clear_tool_uses(
        trigger_tokens=30_000, keep=5, least_gain_tokens=5_000, exclude_tools={"web_search", "a"}, clear_tool_inputs=False
    )
    assert field == {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 30_000},
                "keep": {"type": "tool_uses", "value": 5},
                "clear_at_least": {"type": "input_tokens", "value": 5_000},
                "exclude_tools": ["a", "web_search"],
                "clear_tool_inputs": False,
            }
        ]
    }


def test_no_least_gain_is_no_field():
    """A gain of nothing is not asked for."""
    assert "clear_at_least" not in Budget().context_management()["edits"][0]
    assert Budget.beta == CONTEXT_EDITING_BETA
