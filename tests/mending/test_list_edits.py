import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redline.mending.edits import apply
from redline.mending.fixes import Fix
from redline.mending.list_edits import ListEdits
from redline.transcripts.document import open_document
from redline.transcripts.source import Source

FIX = Fix("change", "because")


def edited(path, content, change):
    path.write_bytes(content)
    source = Source(path)
    document = open_document(source)
    items = [position for position, _ in document.positions_of(document.whole)]
    edits = ListEdits(source, items)
    change(edits, items)
    return apply(edits.splices(), content)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.booleans(), min_size=1, max_size=6), st.sampled_from([None, 1]), st.data())
def test_the_list_stays_a_list(tmp_path, goes, indent, data):
    """Whichever items go, and wherever others come between those that stay, the rest is there in its order."""
    values = [{"n": number} for number in range(len(goes))]
    left = [number for number, gone in enumerate(goes) if not gone]
    behind = data.draw(st.sampled_from(left)) if left else None
    before = data.draw(st.sampled_from(left)) if left else None

    def change(edits, items):
        for number, gone in enumerate(goes):
            if gone:
                edits.remove(items[number], FIX)
        if left:
            edits.add_behind(items[behind], b'{"n": "behind"}', FIX)
            edits.add_before(items[before], b'{"n": "before"}', FIX)

    expected = []
    for number in left:
        expected += ["before"] * (number == before) + [number] + ["behind"] * (number == behind)
    after = edited(tmp_path / "x.json", json.dumps(values, indent=indent).encode(), change)
    assert [item["n"] for item in json.loads(after)] == expected


def test_what_comes_is_set_apart_as_the_others_are(tmp_path):
    """A list with a line for each item gets a line for the new one."""
    content = b'[\n  {"a": 1},\n  {"b": 2}\n]\n'
    after = edited(tmp_path / "x.json", content, lambda edits, items: edits.add_behind(items[1], b"{}", FIX))
    assert after == b'[\n  {"a": 1},\n  {"b": 2},\n  {}\n]\n'


def test_what_no_item_is_stays(tmp_path):
    """Something between two items that is not theirs is not taken along."""
    content = b'[{"a": 1}, 5, {"b": 2}]'
    path = tmp_path / "x.json"
    path.write_bytes(content)
    source = Source(path)
    document = open_document(source)
    first, _, last = [position for position, _ in document.positions_of(document.whole)]
    edits = ListEdits(source, [first, last])
    edits.remove(first, FIX)
    assert apply(edits.splices(), content) == b'[5, {"b": 2}]'
    edits = ListEdits(source, [first, last])
    edits.remove(last, FIX)
    assert apply(edits.splices(), content) == b'[{"a": 1}, 5]'
