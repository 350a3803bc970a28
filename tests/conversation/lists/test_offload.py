"""Large tool results moved to files of a directory."""

import copy
import json
import os
import resource
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.conversation.lists import offload_tool_results, read_offloaded
from redline.errors import ExecutionError, ValidationError
from redline.providers import FORMATS, find_format
from redline.testing import asks, conversation, says


def results(*contents: tuple) -> list:
    """A message for each id and content."""
    return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": c}]} for i, c in contents]


def references(messages: list) -> list:
    return [block["content"] for message in messages for block in message["content"]]


def test_a_long_result_moves_and_is_read_back(tmp_path):
    """The reference takes its place, every other field stays."""
    (message,) = results(("t1", "x" * 100))
    message["content"][0]["cache_control"] = {"type": "ephemeral"}
    done = offload_tool_results([message], tmp_path / "out")
    assert references(done.messages) == ["[Content offloaded to: ./tool-result-t1.md]"]
    assert done.messages[0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert (done.offloaded_count, done.freed_chars) == (1, 100)
    assert done.files == [str(tmp_path / "out" / "tool-result-t1.md")]
    assert read_offloaded(references(done.messages)[0], tmp_path / "out") == "x" * 100


def test_the_reference_is_a_setting(tmp_path):
    """Any text with the name in it, which is recognised and read back."""
    options = {"reference": "see file {name}", "min_chars": 5}
    done = offload_tool_results(results(("t1", "x" * 100)), tmp_path, **options)
    assert references(done.messages) == ["see file tool-result-t1.md"]
    assert offload_tool_results(done.messages, tmp_path, **options).messages == done.messages
    assert read_offloaded("see file tool-result-t1.md", tmp_path) == "x" * 100


@pytest.mark.parametrize("options", [{"min_chars": -1}, {"min_ratio": 2}, {"reference": "gone"}, {"reference": "{x}"}])
def test_settings_that_cannot_work_are_refused(options, tmp_path):
    """Nothing is written then."""
    with pytest.raises(ValidationError):
        offload_tool_results(results(("t1", "x" * 100)), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "reference",
    ["", "[Content offloaded to: ./../secret.md]", "tool-result-../../x.md", "/etc/passwd", "tool-result-a:b.md"],
)
def test_a_reference_that_leads_elsewhere_is_refused(reference, tmp_path):
    """Only files directly in the directory are read."""
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "out").mkdir()
    with pytest.raises((ValidationError, ExecutionError)):
        read_offloaded(reference, tmp_path / "out")


def test_a_link_is_not_followed(tmp_path):
    """Neither for reading nor for writing."""
    (tmp_path / "secret").write_text("secret")
    out = tmp_path / "out"
    out.mkdir()
    (out / "tool-result-t1.md").symlink_to(tmp_path / "secret")
    with pytest.raises(ValidationError, match="link"):
        read_offloaded("[Content offloaded to: ./tool-result-t1.md]", out)
    done = offload_tool_results(results(("t1", "x" * 100)), out)
    assert [Path(file).name for file in done.files] == ["tool-result-t1-1.md"]
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_file_that_is_gone_says_what_to_do(tmp_path):
    """The error names the file."""
    with pytest.raises(ExecutionError, match=r"tool-result-t1\.md does not exist"):
        read_offloaded("[Content offloaded to: ./tool-result-t1.md]", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_an_error(tmp_path):
    """The caller's messages are as before."""
    tmp_path.chmod(0o500)
    with pytest.raises(ExecutionError, match="permissions"):
        offload_tool_results(results(("t1", "x" * 100)), tmp_path)


def test_a_failure_half_way_leaves_complete_files_only(tmp_path):
    """What was written before it is whole, and nothing of the rest stays."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(ExecutionError, match="cannot be stored"):
            offload_tool_results(results(("t1", "x" * 100), ("t2", "y" * 9000)), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"tool-result-t1.md": "x" * 100}


def test_a_name_taken_by_a_directory_gets_the_next_number(tmp_path):
    """As one taken by a file with other content."""
    (tmp_path / "tool-result-t.md").mkdir()
    (tmp_path / "tool-result-t-1.md").write_text("other")
    done = offload_tool_results(results(("t", "x" * 100)), tmp_path)
    assert [Path(file).name for file in done.files] == ["tool-result-t-2.md"]


def test_one_id_many_times_gets_a_file_each(tmp_path):
    """Numbered in their order, without looking through all names again for each."""
    done = offload_tool_results(results(*[("t", "x" * 5)] * 200), tmp_path, min_chars=5)
    assert len(set(done.files)) == 200
    assert done.files[-1].endswith("tool-result-t-199.md")


def test_what_was_read_back_stays(tmp_path):
    """Or the model would never get to see it; the tool's name is a setting."""
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "recall", "input": {}}]}
    history = [*results(("t1", "x" * 100)), call, *results(("t2", "x" * 100))]
    done = offload_tool_results(history, tmp_path)
    assert (done.offloaded_count, done.messages[2]) == (1, history[2])
    assert offload_tool_results(history, tmp_path, recall_tool="another").offloaded_count == 2


def test_what_the_provider_ran_stays(tmp_path):
    """It is not the client's to move."""
    block = {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [{"type": "text", "text": "x" * 200}]}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [block]}]
    assert offload_tool_results(history, tmp_path, format="anthropic").offloaded_count == 0


def inner_values(value):
    """The identities of all objects and lists in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {id(value)} | {one for each in inner if isinstance(each, dict | list) for one in inner_values(each)}


@pytest.mark.parametrize("name", FORMATS)
def test_results_of_every_format_move(name, tmp_path):
    """A long result moves and is read back, a short one and one of the recall tool stay, in all formats (R21)."""
    turns = [
        *asks("read", {}, "x" * 200, id="c1"),
        *asks("read", {}, "short", id="c2"),
        *asks("recall", {}, "y" * 200, id="c3"),
    ]
    messages = conversation(name, [says("user", "hi"), *turns])
    before = copy.deepcopy(messages)
    for options in ({}, {"format": name}):
        done = offload_tool_results(messages, tmp_path, **options)
        texts = [part.text for payload in done.messages for part in find_format(name).read(payload).results]
        assert texts == ["[Content offloaded to: ./tool-result-c1.md]", "short", "y" * 200]
        assert (done.offloaded_count, done.freed_chars) == (1, 200)
        assert read_offloaded(texts[0], tmp_path) == "x" * 200
        assert offload_tool_results(done.messages, tmp_path, **options).offloaded_count == 0
    assert messages == before


@pytest.mark.parametrize("name", FORMATS)
def test_changed_messages_share_nothing_with_the_given_ones(name, tmp_path):
    """Whoever changes what was returned changes nothing of the list that was given (R21)."""
    messages = conversation(name, [says("user", "hi"), *asks("read", {"a": [1]}, "x" * 200, id="c1")])
    for message in messages:
        message["extra"] = {"list": [{"deep": []}]}
    done = offload_tool_results(messages, tmp_path)
    changed = [now for was, now in zip(messages, done.messages, strict=True) if now is not was]
    assert len(changed) == 1
    assert not inner_values(changed[0]) & inner_values(messages)
    assert changed[0]["extra"] == {"list": [{"deep": []}]}


def test_depth_of_other_fields_does_not_matter(tmp_path):
    """Values that are nested deeper than Python recurses are copied like any other (R21)."""
    (message,) = results(("t1", "x" * 100))
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    message["extra"] = deep
    (after,) = offload_tool_results([message], tmp_path).messages
    assert references([after]) == ["[Content offloaded to: ./tool-result-t1.md]"]
    assert after["extra"] is not deep


_ids = (
    st.none()
    | st.sampled_from(["a", "a-1", "A", "../x", "a/b", "", ".", "k" * 300, "é中"])
    | st.text(st.characters(codec=None), max_size=8)
)
_contents = st.text(st.characters(codec=None), max_size=30) | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=20)), max_size=2
)


@given(st.lists(st.tuples(_ids, _contents), max_size=8))
def test_every_reference_leads_back(given_results: list):
    """For any ids and contents: input untouched, one file each, all in the directory, and twice is once."""
    messages = results(*given_results)
    before = copy.deepcopy(messages)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        done = offload_tool_results(messages, out, min_chars=10)
        assert messages == before
        assert len(set(done.files)) == done.offloaded_count
        assert {Path(file).parent for file in done.files} <= {out}
        for (_, old), new, was, now in zip(given_results, references(done.messages), messages, done.messages, strict=True):
            if new == old:
                assert now is was
                continue
            text = read_offloaded(new, out)
            assert (text if isinstance(old, str) else json.loads(text)) == old
        again = offload_tool_results(messages, out, min_chars=10)
        assert (again.messages, again.files) == (done.messages, done.files)
        assert offload_tool_results(done.messages, out, min_chars=10).messages == done.messages
