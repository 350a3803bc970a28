from redline.agents.transcripts.heads import fields_in, objects_in, text_in


def test_hoped_for_shapes_are_handed_through():
    """A value of the right shape is the answer."""
    assert fields_in({"a": 1}) == {"a": 1}
    assert objects_in([{"a": 1}, {}]) == [{"a": 1}, {}]
    assert text_in("words") == "words"


def test_other_shapes_are_empty():
    """A value of any other shape counts as nothing."""
    for other in (None, 5, True):
        assert (fields_in(other), objects_in(other), text_in(other)) == ({}, [], "")
    assert (fields_in([1]), text_in(["x"]), objects_in({"a": 1}), objects_in("abc")) == ({}, "", [], [])


def test_a_list_keeps_only_its_objects():
    """What is no object is passed over, the others keep their order."""
    assert objects_in([{"a": 1}, None, "x", {"b": 2}]) == [{"a": 1}, {"b": 2}]
