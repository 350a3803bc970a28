from redline.formats import FORMATS
from redline.mending.origins import Origins


def test_a_block_is_known_by_itself():
    """Two blocks that say the same are not mistaken for each other."""
    first, second = {"type": "text", "text": "x"}, {"type": "text", "text": "x"}
    origins = Origins()
    origins.note(first, "here")
    origins.note(second, "there")
    assert (origins.find(second), origins.find(first)) == ("there", "here")


def test_a_copy_with_another_id_is_known_by_what_it_shares():
    """As a format makes it when it renames a call; asked twice, the answer is the same."""
    anthropic = FORMATS["anthropic"]
    block = {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}
    renamed = anthropic.rename(anthropic.read({"role": "assistant", "content": [block]}), {0: "b"}).native["content"][0]
    origins = Origins()
    origins.note(block, "here")
    assert renamed is not block
    assert [origins.find(renamed), origins.find(renamed)] == ["here", "here"]


def test_what_the_repair_made_comes_from_nowhere():
    """A block that shares nothing with those that were noted has no place."""
    origins = Origins()
    origins.note({"type": "text", "text": "x"}, "here")
    assert origins.find({"type": "tool_result", "tool_use_id": "a", "content": "words"}) is None
