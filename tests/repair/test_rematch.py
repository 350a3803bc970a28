from redline.repair.rematch import rematched
from redline.repair.values import Draft, Item
from tests.repair.histories import GEMINI, natives


def call(name=None):
    return {"functionCall": {"name": "read", "args": {}, **({"id": name} if name else {})}}


def response(name=None):
    return {"functionResponse": {"name": "read", "response": {"output": name}, **({"id": name} if name else {})}}


def draft(calls, responses):
    turns = ({"role": "model", "parts": calls}, {"role": "user", "parts": responses})
    said, heard = (Item(GEMINI.read(turn), source) for source, turn in enumerate(turns))
    return Draft([said], [heard], ())


def test_what_matches_is_left_alone():
    """The same exchange comes back."""
    given = draft([call("a"), call("b")], [response("b"), response("a")])
    assert rematched(given, GEMINI, "drop") is given


def test_what_does_not_match_in_this_order_is_repaired_again():
    """A response without an id takes the first open call of its tool, and the one that was meant for it finds none."""
    given = draft([call("a"), call("b")], [response(), response("a")])
    after = rematched(given, GEMINI, "answer")
    parts = natives(after.heard)[0]["parts"]
    assert [part["functionResponse"].get("id") for part in parts] == [None, "b"]
    assert natives(rematched(given, GEMINI, "drop").said) == []
    assert all(change.index >= 0 for change in after.changes)
