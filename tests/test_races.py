"""Conversations that several processes write to: what each sees of the others, and that nothing of a race is hidden."""

import asyncio
import logging
import subprocess
import sys

import pytest

import redline
from redline.conversation import aio
from tests.cli.run import redline as run
from tests.record.logs import KINDS, environment, new_address

WRITER = """
import sys
import redline

with redline.open(sys.argv[1], format="openai_chat", durability="os") as talk:
    print("open", flush=True)
    sys.stdin.readline()
    for turn in range(int(sys.argv[3])):
        talk.add({"role": "user", "content": f"{sys.argv[2]} {turn}"})
"""


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    return new_address(request.param, tmp_path, request)


def user(text):
    return {"role": "user", "content": text}


def texts(talk):
    return [message["content"] for message in talk.messages]


def write_at_once(address, *names, turns=15):
    """Processes that have the conversation open before one of them writes."""
    commands = [[sys.executable, "-c", WRITER, address, name, str(turns)] for name in names]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    writers = [subprocess.Popen(command, env=environment(), **pipes) for command in commands]
    for writer in writers:
        assert writer.stdout.readline() == b"open\n"
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0


def test_every_message_of_a_race_is_on_a_branch(address, caplog):
    """Of two processes that write at once, one is on a branch that is listed and marked; opening says so once."""
    with redline.open(address, format="openai_chat") as talk:
        talk.add(user("first"))
    write_at_once(address, "a", "b")
    caplog.set_level(logging.WARNING, "redline.conversation")
    with redline.open(address) as talk:
        assert [one.message for one in caplog.records if "went on from the same place" in one.message] == [
            f"{talk.name}: writers went on from the same place 1 times at once; what is not on the present path is in branches"
        ]
        branches = talk.branches
        assert sorted((branch.is_current, branch.is_race) for branch in branches) == [(False, True), (True, False)]
        found = []
        for branch in branches:
            talk.switch(branch)
            found += texts(talk)[1:]
    assert sorted(found) == sorted(f"{name} {turn}" for name in "ab" for turn in range(15))


def test_conversation_without_a_race_says_nothing(address, caplog):
    """A rewind and a switch are no race."""
    caplog.set_level(logging.WARNING, "redline.conversation")
    with redline.open(address, format="openai_chat") as talk:
        for text in ("a", "b", "c"):
            talk.add(user(text))
        talk.rewind(0)
        talk.add(user("d"))
        talk.switch(next(branch for branch in talk.branches if not branch.is_current))
        talk.refresh()
    with redline.open(address) as talk:
        assert not any(branch.is_race for branch in talk.branches)
    assert not caplog.records


def test_refresh_goes_on_where_another_process_is(address):
    """The messages that it has said since are there, and what is said now follows on them."""
    with redline.open(address, format="openai_chat") as talk:
        talk.add(user("first"))
        assert talk.refresh() == 0
        write_at_once(address, "a", turns=3)
        assert texts(talk) == ["first"]
        assert talk.refresh() == 3
        assert texts(talk) == ["first", "a 0", "a 1", "a 2"]
        talk.add(user("last"))
        assert len(talk.branches) == 1
        assert talk.request().messages == talk.messages
    with redline.open(address) as again:
        assert texts(again) == ["first", "a 0", "a 1", "a 2", "last"]


def test_refresh_follows_one_who_went_another_way(address, caplog):
    """What was said here stays as a branch; a race is told when it is seen."""
    with redline.open(address, format="openai_chat") as talk, redline.open(address, format="openai_chat") as other:
        talk.add(user("first"))
        assert other.refresh() == 1
        talk.add(user("mine"))
        other.add(user("yours"))
        assert talk.refresh() == 1
        assert texts(talk) == ["first", "yours"]
        assert sum("went on from the same place 1 times" in one.message for one in caplog.records) == 1
        other.rewind(0)
        assert talk.refresh() == 0
        assert texts(talk) == ["first"]


def test_refresh_for_asyncio(address):
    """Awaited, it is the same."""

    async def use():
        async with await aio.open(address, format="openai_chat") as talk:
            await talk.add(user("first"))
            await asyncio.to_thread(write_at_once, address, "a", turns=2)
            return await talk.refresh(), await talk.messages

    new, messages = asyncio.run(use())
    assert (new, len(messages)) == (2, 3)


def test_commands_tell_of_a_race(address):
    """`ls`, `show`, `log` and `inspect` each have it."""
    with redline.open(address, format="openai_chat") as talk, redline.open(address, format="openai_chat") as other:
        talk.add(user("first"))
        other.refresh()
        talk.add(user("mine"))
        other.add(user("yours"))
    assert "1 race of two writers made branches" in run("show", address).stdout
    assert "made by another writer at the same time" in run("log", address).stdout
    assert "branches" in run("inspect", address).stdout
    store = address.partition("#")[0] if "://" in address else address.rpartition("/")[0]
    assert "(1 race) first" in run("ls", store).stdout
