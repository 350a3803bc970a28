import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ValidationError
from redline.testing import asks, conversation, says
from redline.view.operations import Filter, parse_operation
from tests.view.driver import Driven, keep, numbered, truncate


def user(*contents):
    return [{"role": "user", "content": content} for content in contents]


def visible_after(messages, **conditions):
    driven = Driven(messages)
    driven.process(keep(**conditions))
    return driven.visible_indices


def test_roles_are_kept_as_the_messages_name_them():
    """A role is the word in the message: a developer is not a system here."""
    messages = [{"role": role, "content": "x"} for role in ("system", "developer", "user", "assistant", "tool")]
    assert visible_after(messages, roles=["system", "tool"]) == [0, 4]
    assert visible_after(messages, roles=["developer"]) == [1]
    assert visible_after(messages, roles=["System"]) == []


def test_an_item_without_a_role_is_that_of_who_said_it():
    """Calls and results of the Responses API name no role."""
    items = conversation("openai_responses", [says("user", "hi"), *asks("read", {"path": "a"}, "text")])
    assert visible_after(items, roles=["assistant"]) == [1]
    assert visible_after(items, roles=["tool"]) == [2]


def test_any_keyword_of_a_list_is_enough():
    """A message stays that contains one of the words, and goes that contains one of the excluded."""
    messages = user("a", "b", "c", "ab")
    assert visible_after(messages, content_contains=["a", "b"]) == [0, 1, 3]
    assert visible_after(messages, content_excludes=["a", "b"]) == [2]


def test_all_conditions_must_hold():
    """Role, contained and excluded words together."""
    messages = [*user("alpha beta", "alpha"), {"role": "assistant", "content": "alpha"}, *user("gamma")]
    assert visible_after(messages, roles=["user"], contentContains=["alpha"], contentExcludes=["beta"]) == [1]


def test_an_empty_list_is_no_condition():
    """It neither keeps nor removes, as long as another list says something."""
    assert visible_after(user("a", "b"), roles=[], content_contains=["a"], content_excludes=[]) == [0]


def test_keywords_are_case_sensitive():
    """Error is not error."""
    assert visible_after(user("Error", "error"), content_contains=["error"]) == [1]


def test_other_content_than_text_is_searched_as_compact_json():
    """No spaces, and characters as they are, numbers that no 64 bits hold included."""
    content = [{"type": "text", "text": "图", "n": 2**70}]
    messages = user(content, "type")
    assert visible_after(messages, content_contains=[json.dumps(content, ensure_ascii=False, separators=(",", ":"))]) == [0]
    assert visible_after(messages, content_contains=['"type": "text"']) == []


def test_content_under_another_name_is_searched_too():
    """Gemini's parts and an item's output are content as well; calls are not."""
    turns = [says("user", "alpha"), *asks("read", {"path": "alpha"}, "alpha beta")]
    gemini = conversation("gemini", turns)
    assert visible_after(gemini, content_contains=['[{"text":"alpha"}]']) == [0]
    items = conversation("openai_responses", turns)
    assert visible_after(items, content_contains=["alpha"]) == [0, 2]
    chat = conversation("openai_chat", turns)
    assert visible_after(chat, content_contains=["alpha"]) == [0, 2]


def test_no_content_contains_nothing():
    """A message that only calls has no words to find, and none to be excluded for."""
    call = {"id": "c", "type": "function", "function": {"name": "null", "arguments": "{}"}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    assert visible_after(messages, content_contains=["null"]) == []
    assert visible_after(messages, content_excludes=["null"]) == [0]


def test_only_visible_messages_are_looked_at():
    """What is hidden stays hidden, and a batch opens."""
    driven = Driven(numbered(10))
    driven.process(truncate(keep_last=5))
    driven.process(keep(roles=["user"]))
    assert driven.visible_indices == [6, 8]
    assert driven.batches.boundaries == (0, 5, 6)


def test_a_description_of_the_tools_is_not_protected():
    """Filter keeps nothing that does not meet the conditions."""
    driven = Driven([{"role": "system", "content": "可用工具:\n- read"}, *numbered(1)], [{"name": "read"}])
    driven.process(keep(roles=["user"]))
    assert driven.visible_indices == [1]


def test_payloads_in_bytes_are_filtered_like_objects():
    """A stored message may be its JSON text."""
    assert visible_after([b'{"role": "user", "content": "alpha"}', *user("beta")], content_contains=["alpha"]) == [0]


@given(st.lists(st.text("abAB", max_size=3)), st.lists(st.text("abAB", min_size=1, max_size=2), min_size=1, max_size=2))
def test_containing_and_excluding_are_opposites(texts, keywords):
    """What one keeps the other removes."""
    kept = visible_after(user(*texts), content_contains=keywords)
    removed = visible_after(user(*texts), content_excludes=keywords)
    assert sorted(kept + removed) == list(range(len(texts)))


@pytest.mark.parametrize("section", [None, {}, {"roles": []}, {"roles": [], "contentContains": [], "contentExcludes": None}])
def test_no_condition_is_refused(section):
    """A filter without a condition is a mistake; the error lists the conditions there are."""
    with pytest.raises(ValidationError, match="at least one of roles, content_contains, content_excludes"):
        parse_operation({"operation": "filter", "filter": section})


@pytest.mark.parametrize("value", ["user", 5, [5], [None], {"a": 1}, True])
def test_conditions_are_lists_of_strings(value):
    """A single string is no list: its letters would be taken for words."""
    with pytest.raises(ValidationError, match=r"filter.roles must be a list of strings"):
        parse_operation(keep(roles=value))


def test_the_value_is_checked_however_it_is_made():
    """An invalid operation cannot exist."""
    with pytest.raises(ValidationError):
        Filter()
    assert parse_operation(keep(roles=["user"])) == Filter(roles=("user",))
