"""What people say of conversations: title, user, tags."""

import pytest

import redline
from redline import LogError, ValidationError
from tests.cli.run import redline as run
from tests.store.places import KINDS, files_with, new_store, talk

PHRASE = "xyzzy-quarterly-figures"


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    """With two conversations."""
    found = new_store(request.param, tmp_path, request)
    talk(found, "a", "hello", "again")
    talk(found, "b", "something else", at_ms=1_700_000_900_000.0)
    return found


def told(store):
    return {one.name: (one.title, one.user, one.tags) for one in store.list()}


def test_conversation_is_described(store):
    """Each thing is told by itself, and stays until something else is said; what is empty takes it away."""
    assert told(store)["a"] == ("hello", "", ())
    described = store.describe("a", title="Figures", user="ann", tags=["red", "blue", "red"])
    assert (described.title, described.user, described.tags) == ("Figures", "ann", ("red", "blue"))
    store.describe("a", user="bob")
    assert told(store) == {"a": ("Figures", "bob", ("red", "blue")), "b": ("something else", "", ())}
    store.describe("a", title="", tags=[])
    assert told(store)["a"] == ("hello", "bob", ())


def test_description_leaves_the_conversation_as_it_is(store):
    """One that is open goes on from where it was, without a branch; it is as long, and as old, as before."""
    before = store.list()
    with store.open("a") as open_one:
        store.describe("a", title="Figures")
        open_one.add({"role": "user", "content": "more"})
        store.describe("a", user="ann")
        assert open_one.refresh() == 0
        assert len(open_one.branches) == 1
    with store.open("a") as again:
        assert [one["content"] for one in again.messages] == ["hello", "again", "more"]
        assert len(again.fork().messages) == 3
    after = next(one for one in store.list() if one.name == "a")
    assert (after.messages, after.races, after.first_ms) == (3, 0, before[1].first_ms)


def test_search_by_user_and_tag(store):
    """Both must be as wanted."""
    store.describe("a", user="ann", tags=["red", "blue"])
    store.describe("b", user="bob", tags=["red"])

    def names(**wanted):
        return sorted(one.conversation.name for one in store.search(**wanted))

    assert names(tag="red") == ["a", "b"]
    assert names(user="bob") == ["b"]
    assert names(user="ann", tag="blue") == ["a"]
    assert names(user="bob", tag="blue") == []
    assert names(text="hello", tag="red") == ["a"]


def test_description_goes_with_the_conversation(store, tmp_path):
    """After a deletion it is in no file."""
    store.describe("a", title=PHRASE, user=PHRASE, tags=[PHRASE])
    store.delete("a")
    assert files_with(PHRASE, tmp_path) == []
    talk(store, "a", "new")
    assert told(store)["a"] == ("new", "", ())


def test_conversation_that_is_not_there_cannot_be_described(store):
    """Nothing is made by describing."""
    with pytest.raises(ValidationError, match="There is no conversation 'c'"):
        store.describe("c", title="x")
    assert store.names() == ("a", "b")


@pytest.mark.parametrize(
    "wrong", [{"title": 5}, {"user": "a\nb"}, {"tags": "red"}, {"tags": [5]}, {"tags": 5}, {"title": "x" * 1001}]
)
def test_nonsense_is_refused(store, wrong):
    """Before anything is written."""
    before = told(store)
    with pytest.raises(ValidationError, match="Nothing was changed"):
        store.describe("a", **wrong)
    assert told(store) == before


def test_one_that_is_open_exclusively_cannot_be_described_by_others(store):
    """A description is a record, and its writer has the log to itself."""
    with store.open("a", exclusive=True), pytest.raises(LogError, match="is open exclusively"):
        store.describe("a", title="x")


def test_commands_know_of_it(store):
    """`ls` shows and filters, `search` filters."""
    store.describe("a", title="Figures", user="ann", tags=["red", "blue"])
    address = store._address
    shown = run("ls", address, width=140).stdout
    assert all(word in shown for word in ("Figures", "ann", "red, blue", "something else"))
    assert "something else" not in run("ls", address, "--user", "ann").stdout
    assert "Figures" in run("ls", address, "--tag", "red").stdout
    assert "Figures" in run("search", address, "--tag", "red", "--user", "ann").stdout
    assert run("search", address, "--user", "nobody").returncode == 1


# --- sizes and problems


def test_search_by_size(store):
    """In bytes, as `list` tells them."""
    talk(store, "large", "x" * 5000)
    assert [one.conversation.name for one in store.search(min_bytes=5000)] == ["large"]
    assert sorted(one.conversation.name for one in store.search(max_bytes=5000)) == ["a", "b"]
    found = run("search", store._address, "--larger-than", "5000").stdout
    assert found.startswith("large ")


def test_search_for_problems(store):
    """A call without an answer is found, with what is wrong; one that was answered is not."""
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    for name, is_answered in (("open", False), ("answered", True)):
        with store.open(name, format="openai_chat") as conversation:
            conversation.add({"role": "user", "content": "list the files"})
            conversation.add({"role": "assistant", "content": None, "tool_calls": [call]})
            if is_answered:
                conversation.add({"role": "tool", "tool_call_id": "c1", "content": "none"})
    (found,) = store.search(problems=True)
    assert found.conversation.name == "open"
    with store.open("open") as conversation:
        assert found.excerpt == str(redline.check(conversation.messages)[0])
    assert [one.conversation.name for one in store.search("files", problems=True)] == ["open"]
    assert list(store.search("hello", problems=True)) == []
    assert "(1 problem)" in run("search", store._address, "--problems").stdout
