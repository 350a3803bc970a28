"""Conversations found by what was said in them, by the tools they used, the files they touched, when, and how long they are."""

from datetime import UTC, datetime

import pytest

from redline import ValidationError
from redline.record import ROOT, MessageAdded, open_log
from tests.store.places import KINDS, new_store, talk


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    """A store with three conversations, a day apart."""
    with new_store(request.param, tmp_path, request) as store:
        talk(store, "login", "The login fails", "Try again: the LOGIN page", at_ms=ms(1))
        talk(store, "größe", 'Die Größe "stimmt" nicht\nmit Zeile', at_ms=ms(2))
        with store.open("tools", format="anthropic") as talked:
            call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "/repo/src/app.py"}}
            result = {"type": "tool_result", "tool_use_id": "c1", "content": "def main(): pass"}
            talked.add({"role": "user", "content": "look"}, timestamp_ms=ms(3))
            talked.add({"role": "assistant", "content": [call]}, timestamp_ms=ms(3))
            talked.add({"role": "user", "content": [result]}, timestamp_ms=ms(3))
        yield store


def ms(day):
    return datetime(2026, 1, day, tzinfo=UTC).timestamp() * 1000


def names(results):
    return sorted(one.conversation.name for one in results)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["größe", "login", "tools"]),
        ({"text": "login"}, ["login"]),
        ({"text": "GRÖSSE"}, ["größe"]),
        ({"text": 'größe "stimmt'}, ["größe"]),
        ({"text": "nicht\nmit"}, ["größe"]),
        ({"text": "def main()"}, ["tools"]),
        ({"text": "app.py"}, ["tools"]),
        ({"text": "nowhere"}, []),
        ({"tool": "Read"}, ["tools"]),
        ({"tool": "Write"}, []),
        ({"path": "/repo/src/app.py"}, ["tools"]),
        ({"path": "app.py"}, ["tools"]),
        ({"path": "./src"}, ["tools"]),
        ({"path": "pp.py"}, []),
        ({"tool": "Read", "text": "def main", "path": "src/app.py"}, ["tools"]),
        ({"tool": "Read", "text": "login"}, []),
        ({"since": datetime(2026, 1, 2, tzinfo=UTC)}, ["größe", "tools"]),
        ({"until": datetime(2026, 1, 2, tzinfo=UTC)}, ["größe", "login"]),
        ({"since": datetime(2026, 1, 2, tzinfo=UTC), "until": datetime(2026, 1, 2, 5, tzinfo=UTC)}, ["größe"]),
        ({"min_messages": 2}, ["login", "tools"]),
        ({"min_messages": 2, "text": "größe"}, []),
    ],
)
def test_what_is_found(store, query, found):
    """All that is given must be there."""
    assert names(store.search(**query)) == found


def test_a_result_shows_what_was_found(store):
    """The words around the first place, and how many messages have it."""
    (found,) = store.search("login")
    assert (found.excerpt, found.matches) == ("The login fails", 2)
    (found,) = store.search(path="app.py")
    assert (found.excerpt, found.matches) == ("/repo/src/app.py", 1)


def test_what_is_hidden_or_on_another_branch_is_found_too(store):
    """Whoever looks for a word wants to know of every place it is at."""
    with store.open("login") as talked:
        talked.rewind(0)
        talked.add({"role": "user", "content": "a new way"})
    assert names(store.search("again")) == ["login"]
    assert names(store.search("new way")) == ["login"]


@pytest.mark.parametrize("content", [r"\u006cogin", "lo" + r"\u0067in"])
def test_escapes_hide_nothing(store, content):
    """A message is kept as it was written; what it says is searched."""
    address = f"{store.name}#escaped" if "://" in store.name else f"{store.name}/escaped.jsonl"
    log = open_log(address)
    log.append([MessageAdded(f'{{"role":"user","content":"{content}"}}'.encode())], parent=ROOT)
    log.close()
    assert names(store.search("login")) == ["escaped", "login"]


@pytest.mark.parametrize("payload", [b"", b"no json", b'"text"', b"[1]", b'{"role":5}', b'{"role":"user","content":{"a":[1]}}'])
def test_a_conversation_of_nonsense_is_among_the_results_with_its_problem_or_without_a_match(store, payload):
    """It neither ends the search nor the listing."""
    address = f"{store.name}#nonsense" if "://" in store.name else f"{store.name}/nonsense.jsonl"
    log = open_log(address)
    log.append([MessageAdded(payload)], parent=ROOT)
    log.close()
    assert {"login"} <= set(names(store.search("login"))) <= {"login", "nonsense"}
    assert len(store.list()) == 4


def test_a_file_that_was_searched_is_found(store):
    """A search names its paths as a read does."""
    call = {"type": "tool_use", "id": "c1", "name": "Grep", "input": {"pattern": "main", "path": "/repo/docs"}}
    with store.open("grep", format="anthropic") as talked:
        talked.add({"role": "user", "content": "look"})
        talked.add({"role": "assistant", "content": [call]})
    assert names(store.search(path="docs")) == ["grep"]


def test_a_conversation_in_which_nothing_was_said_holds_nothing(store):
    """It is listed, and no words are found in it."""
    with store.open("empty") as talked:
        talked.start_batch(0)
    assert "empty" in names(store.search())
    assert "empty" not in names(store.search("login"))
    assert "empty" not in names(store.search(problems=True))


def test_results_come_one_by_one(store):
    """The first is there before the last conversation was read."""
    results = store.search()
    first = next(results)
    store.delete(next(one.name for one in store.list() if one.name != first.conversation.name))
    assert len(list(results)) >= 1


def test_a_time_is_a_datetime(store):
    """Other things are named."""
    with pytest.raises(ValidationError, match="must be a datetime"):
        next(store.search(since="yesterday"))
