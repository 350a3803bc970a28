import pytest

from redline.errors import LogError, ValidationError
from redline.record import records
from redline.record.log import ROOT, Header
from redline.record.opening import list_conversations, open_log
from redline.record.records import VERSION
from tests.record.logs import append_each, message, new_address, said


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """An address that ends with the beginning of a conversation's name."""
    return new_address(request.param, tmp_path, request)


def test_conversations_in_one_database_are_apart(place):
    """Each has its own numbers, header and records, whatever happens in the others."""
    one, two = open_log(place + "1"), open_log(place + "2")
    for turn in range(3):
        append_each(one, [f"one{turn}"])
        append_each(two, [f"two{turn}"])
    assert said(one) == ["one0", "one1", "one2"]
    assert said(two) == ["two0", "two1", "two2"]
    assert [stored.number for stored in two.read()] == [0, 1, 2]
    name = place.partition("#")[2]
    assert [found for found in list_conversations(place) if found.startswith(name)] == [name + "1", name + "2"]


def test_newer_conversation_is_not_opened(place, monkeypatch):
    """One of a newer Redline is left to the newer Redline."""
    with monkeypatch.context() as newer:
        newer.setattr(records, "VERSION", VERSION + 1)
        open_log(place, header=Header(conversation="c", version=VERSION + 1)).append([message("a")], parent=ROOT)
    with pytest.raises(LogError, match=r"The conversation '.*' in .* cannot be opened: it was written by a newer Redline"):
        open_log(place)


def test_many_rows_come_back_in_order(place):
    """More rows than are read at once, some of them large."""
    log = open_log(place, durability="os")
    texts = [str(number) * (number % 90) for number in range(450)]
    log.append([message(text) for text in texts], parent=ROOT)
    assert said(open_log(place)) == texts
    assert [stored.number for stored in log.read(after=399)] == list(range(400, 450))


@pytest.mark.parametrize("name", ["a%00b", "a%0Ab", "%ED%A0%80"])
def test_name_must_be_printable(place, name):
    """A name that cannot be shown or stored is refused, or replaced by what can be."""
    if name.startswith("%ED"):
        append_each(open_log(place + name), ["a"])
        assert said(open_log(place + name)) == ["a"]
        return
    with pytest.raises(ValidationError, match="must be text that can be printed"):
        open_log(place + name)
