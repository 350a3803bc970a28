"""Sizes of tool definitions, in every API's shape."""

import pytest

from redline.engine.tool_sizes import tool_sizes
from redline.tokens import Estimate

SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "description": "Which file to read, from the root."}}}
PREAMBLES = {
    "anthropic": {"tools": [{"name": "read", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "web_search"}]},
    "openai_chat": {
        "tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}, {"type": "web_search"}]
    },
    "openai_responses": [
        {"tools": [{"type": "function", "name": "read", "parameters": SCHEMA}, {"type": "web_search"}]},
        "said",
    ],
    "gemini": {"tools": [{"functionDeclarations": [{"name": "read", "parameters": SCHEMA}]}, {"web_search": {}}]},
}


@pytest.mark.parametrize("format", PREAMBLES)
def test_every_definition_is_counted_by_its_name(format):
    """The larger one counts more, and hosted tools are named by their kind."""
    sizes = dict(tool_sizes(PREAMBLES[format], Estimate()))
    assert list(sizes) == ["read", "web_search"]
    assert sizes["read"] > 20 > sizes["web_search"] > 0


@pytest.mark.parametrize("preamble", [None, "words", {"tools": "none"}, {"tools": [3, {}, {"name": 7}]}, [1, {"system": "x"}]])
def test_anything_else_is_no_tool(preamble):
    """A client may send what it likes."""
    assert all(name for name, _ in tool_sizes(preamble, Estimate()))


def test_two_of_one_name_are_added_up():
    """As some gateways send them."""
    one = {"name": "read", "input_schema": SCHEMA}
    ((_, single),) = tool_sizes({"tools": [one]}, Estimate())
    assert tool_sizes({"tools": [one, one]}, Estimate()) == (("read", 2 * single),)
