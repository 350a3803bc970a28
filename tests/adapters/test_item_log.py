"""A list of items in a log: what comes back is what was added, whoever added it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import redline
from redline.adapters.item_log import ItemLog

ITEMS = [{"role": "user", "content": "hi"}, {"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "unheard_of", "n": 1}]
ADDER = """
import sys
from redline.adapters.item_log import ItemLog
log = ItemLog(sys.argv[1], "s", title="s", format="openai_responses")
for number in range(40):
    said = f"{sys.argv[2]} {number}"
    log.add([{"role": "user", "content": said}, {"role": "user", "content": f"{said} too"}])
"""


def open_log(store, name="s"):
    return ItemLog(store, name, title="a session", format="openai_responses")


@pytest.fixture(params=["folder", "sqlite", "memory"])
def store(request, tmp_path):
    return {"folder": tmp_path, "sqlite": f"sqlite:///{tmp_path}/chats.db", "memory": None}[request.param]


def test_items_come_back_as_they_were_added(store):
    """Of any shape, in order; another log of the store has none of them."""
    log = open_log(store)
    assert log.read() == []
    log.add(ITEMS[:1])
    log.add(ITEMS[1:])
    log.add([])
    assert log.read() == ITEMS
    assert open_log(store, "t").read() == []


def test_what_is_taken_back_is_gone_from_the_list(store):
    """The last item, all items, and none where there is none; what is added then comes after what is left."""
    log = open_log(store)
    log.add(ITEMS)
    assert log.pop() == ITEMS[2]
    assert log.read() == ITEMS[:2]
    log.add(ITEMS[2:])
    assert log.read() == ITEMS
    log.clear()
    assert (log.read(), log.pop()) == ([], None)
    log.clear()
    log.add(ITEMS[1:2])
    assert log.read() == ITEMS[1:2]


def test_it_is_there_when_it_is_opened_again(tmp_path):
    """By this object after it was closed, by another one, and as a conversation, which shows the same."""
    log = open_log(tmp_path)
    log.add([*ITEMS[:2], *ITEMS[:1]])
    log.pop()
    log.close()
    assert log.read() == open_log(tmp_path).read() == ITEMS[:2]
    with redline.Store(tmp_path) as chats, chats.open("s") as talk:
        assert talk.messages == ITEMS[:2]


def test_processes_at_once_lose_nothing(tmp_path):
    """Each sees what the others added, what was added together stays together, and all see the list in the same order."""
    mine = open_log(tmp_path)
    mine.add(ITEMS[:1])
    adders = [subprocess.Popen([sys.executable, "-c", ADDER, str(tmp_path), name]) for name in "abc"]
    for number in range(40):
        mine.add([{"role": "user", "content": f"d {number}"}, {"role": "user", "content": f"d {number} too"}])
    assert [adder.wait(60) for adder in adders] == [0, 0, 0]
    said = [item["content"] for item in mine.read()][1:]
    assert sorted(said) == sorted(f"{name} {number}{too}" for name in "abcd" for number in range(40) for too in ("", " too"))
    assert said[1::2] == [f"{text} too" for text in said[::2]]
    assert [item["content"] for item in open_log(tmp_path).read()][1:] == said


def test_threads_at_once_take_each_item_once(store):
    """An item is taken back by one of them."""
    log = open_log(store)
    log.add([{"role": "user", "content": str(number)} for number in range(60)])
    with ThreadPoolExecutor(4) as pool:
        taken = [item["content"] for item in pool.map(lambda _: log.pop(), range(60))]
    assert sorted(taken, key=int) == [str(number) for number in range(60)]
    assert log.read() == []
