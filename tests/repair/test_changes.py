from redline.formats import FORMATS
from redline.repair.changes import Change, Item, name_of
from redline.values.messages import Text, ToolCall, ToolResult

MESSAGE = FORMATS["anthropic"].read({"role": "user", "content": "hi"})


def test_item_speaks_of_its_position():
    """A message of the input has its position for an index, an added one has -1."""
    assert Item(MESSAGE, 3).index == 3
    assert Item(MESSAGE, None).index == -1


def test_change_reads_as_a_sentence():
    """A change says where and what."""
    assert str(Change(4, "dropped: it is empty")) == "message 4: dropped: it is empty"


def test_calls_and_results_are_named():
    """A call is named by id and tool, a result by the id it answers, or its tool where there is none."""
    assert name_of(ToolCall("a", "read")) == "the call 'a' of read"
    assert name_of(ToolResult("a")) == "the result for 'a'"
    assert name_of(ToolResult(None, name="read")) == "the result for 'read'"
    assert name_of(Text("x")) == "a Text"
