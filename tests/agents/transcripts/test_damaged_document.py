import json

from hypothesis import given
from hypothesis import strategies as st

from redline.agents.transcripts.damaged_document import salvage

ITEMS = [{"role": "user", "content": f"say {number}"} for number in range(4)]


@given(st.sampled_from([None, 2]), st.booleans(), st.data())
def test_what_is_kept_is_where_it_was(indent, is_list, data):
    """R131: wherever a document ends, its whole items are in what is salvaged, byte for byte, at the place that is named."""
    content = json.dumps(ITEMS if is_list else {"model": "m", "messages": ITEMS}, indent=indent).encode()
    torn = content[: data.draw(st.integers(1, len(content) - 1))]
    found = salvage(torn)
    whole = [
        item
        for item in ITEMS
        if json.dumps(item, indent=None).encode() in b" ".join(torn.split()).replace(b"{ ", b"{").replace(b" }", b"}")
    ]
    if found is None:
        assert not whole
        return
    kept = json.loads(found.content)
    assert (kept if is_list else kept["messages"]) == whole
    place = found.content.index(b"say 0")
    assert torn[found.in_file(place) :].startswith(b"say 0")
    assert found.in_content(found.in_file(place)) == place


def test_the_time_is_linear_in_what_can_be_tried():
    """R131: a file of nothing but beginnings is given up on, not tried from every place to its end."""
    assert salvage(b'[{"role": ' * 20_000) is None
