import pytest

from redline.formats.tool_input import as_json_text, as_object


@pytest.mark.parametrize(
    ("held", "wanted"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), ("ls", {"input": "ls"}), (None, {}), ("", {}), ([1], {"input": [1]})],
)
def test_as_object(held, wanted):
    """An object stays, its JSON text is parsed, anything else is under `input`."""
    assert as_object(held) == wanted


@pytest.mark.parametrize(
    ("held", "wanted"), [({"a": 1}, '{"a":1}'), ("ls", "ls"), ("{", "{"), (None, "{}"), (7, '{"input":7}')]
)
def test_as_json_text(held, wanted):
    """Text stays as it is, well formed or not."""
    assert as_json_text(held) == wanted
