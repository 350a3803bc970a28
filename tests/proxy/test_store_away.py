"""A store that goes away while requests pass: the truth about it, and the strikes that were sent stay in force."""

import contextlib
import json
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from redline.conversation.editor import Editor
from redline.policy.policy import Policy
from redline.tokens import Estimate
from redline.transport.editing import WireEditor
from tests.cli.test_proxy import reads
from tests.postgres import running_postgres
from tests.proxy.support import PlainEditor, proxy, upstream

CHAT = [("x-api-key", "k"), ("x-claude-code-session-id", "chat")]


def bodies(up):
    return [json.loads(seen.body)["messages"] for seen in up.seen if seen.method == "POST"]


def struck_places(messages):
    return [place for place, one in enumerate(messages) if "tool_result" in json.dumps(one) and "line" not in json.dumps(one)]


def wait_until(is_so, within=30.0):
    end = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def health(running):
    got = running.ask("GET", "/redline/health", None)
    return got.status, json.loads(got.body)


def send(running, count, headers=CHAT):
    assert running.ask(body=json.dumps(reads(count)).encode(), headers=headers).status == 200


def send_in_time(running, count):
    """Until the edit is in time: on a busy machine it may be given up, and is then sent as struck before."""
    while True:
        before = running.status()["totals"]
        send(running, count)
        after = running.settled(before["requests"] + 1)["totals"]
        if after["retreats"] == before["retreats"]:
            return


@pytest.mark.parametrize("deadline_ms", [400.0, 5_000.0])
def test_a_postgresql_that_is_stopped_midway(tmp_path, caplog, deadline_ms):
    """R158: status and health tell the problem while it lasts, strikes stay as they were sent, and nothing claims otherwise."""
    caplog.set_level(logging.INFO)
    with running_postgres() as server, upstream() as up:
        address = f"{server.address}&pool_wait=2"

        def open_editor():
            return WireEditor(Editor(address, policy=Policy.documents(), counter=Estimate()))

        with proxy(up.url, tmp_path, open_editor=open_editor, deadline_ms=deadline_ms, store=address) as running:
            for count in range(1, 9):
                send_in_time(running, count)
            known = len(bodies(up))
            before = struck_places(bodies(up)[-1])
            assert len(before) >= 2
            wait_until(lambda: health(running) == (200, {"status": "ok"}))
            caplog.clear()  # a busy machine may have been slow to answer before
            server.stop()
            for count in (8, 9, 9, 10, 11, 12):
                send(running, count)
            wait_until(lambda: running.status()["store_problem"])
            began = time.monotonic()
            status, said = health(running)
            assert (status, said["status"]) == (503, "unavailable")
            while time.monotonic() - began < 5:  # longer than a server is waited for
                send(running, 12)
                assert running.status()["store_problem"]
                assert health(running)[0] == 503
            assert not [one for one in caplog.records if "again, and requests are edited" in one.getMessage()]
            server.start()
            wait_until(lambda: health(running)[0] == 200)
            assert running.status()["store_problem"] == ""
            send(running, 13)
            running.settled(known + 1)
    sent = bodies(up)
    for messages in sent[known:]:
        assert struck_places(messages)[: len(before)] == before
    places = struck_places(sent[known - 1])
    for messages in sent[known:]:
        assert [messages[place] for place in places] == [sent[known - 1][place] for place in places]
    assert len(struck_places(sent[-1])) > len(before)
    told = [one.getMessage() for one in caplog.records if one.name == "redline.proxy"]
    assert sum("The store cannot be used" in line for line in told) == 1
    assert sum("again, and requests are edited" in line for line in told) == 1


def test_strikes_stay_while_other_sessions_wait_for_the_store(tmp_path):
    """R158: unknown sessions that hang on a dead store take no thread from those whose strikes are known."""
    with running_postgres() as server, upstream() as up:
        address = f"{server.address}&pool_wait=5"

        def open_editor():
            return WireEditor(Editor(address, policy=Policy.documents(), counter=Estimate()))

        with proxy(up.url, tmp_path, open_editor=open_editor, deadline_ms=400, store=address) as running:
            for count in range(1, 9):
                send_in_time(running, count)
            known = len(bodies(up))
            server.stop()

            def ask(number):
                if number % 2:
                    send(running, 9)
                else:
                    send(running, 3, [("x-api-key", f"other-{number}"), ("x-claude-code-session-id", f"other-{number}")])

            with ThreadPoolExecutor(16) as clients:
                list(clients.map(ask, range(32)))
            server.start()
    places = struck_places(bodies(up)[known - 1])
    chats = [messages for messages in bodies(up)[known:] if len(messages) > 10]
    assert len(chats) == 16
    assert [struck_places(messages)[: len(places)] for messages in chats] == [places] * 16


def test_a_stuck_editor_sends_what_is_recorded(tmp_path):
    """R139: while every thread hangs, requests go out with the strikes that were sent before."""

    class Stuck(PlainEditor):
        def fall_back(self, call):
            self.retreats.append(call)
            return self._edited(call, call.body.replace(b"Hi", b"Ho"))

    with upstream() as up, proxy(up.url, tmp_path, editor=Stuck(delay=2.0), deadline_ms=50) as running:
        for _ in range(8):
            assert running.ask().status == 200
    assert {b"Ho" in seen.body for seen in up.seen} == {True}


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own takes root")
def test_a_disk_that_fills_up(tmp_path):
    """R158: a full disk is told as long as it is full, by status and health, and strikes that were sent stay in force."""
    place = tmp_path / "disk"
    place.mkdir()
    assert os.system(f"mount -t tmpfs -o size=1m none {place}") == 0
    editor = WireEditor(Editor(place / "store", policy=Policy.documents(), counter=Estimate()))
    try:
        with upstream() as up, proxy(up.url, tmp_path, editor=editor, store=str(place / "store")) as running:
            for count in range(1, 9):
                send(running, count)
            running.settled(8)
            before = struck_places(bodies(up)[-1])
            with (place / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
                while filler.write(b"x" * 4096):
                    pass
            for count in (8, 9, 10):
                send(running, count)
                send(running, 1, [("x-api-key", "other")])
                assert "No space left" in running.status()["store_problem"]
                assert health(running)[0] == 503
            (place / "filler").unlink()
            wait_until(lambda: health(running)[0] == 200)
            send(running, 11)
    finally:
        editor.editor.close()
        assert os.system(f"umount {place}") == 0
    chats = [messages for messages in bodies(up)[8:] if len(messages) > 10]
    assert [struck_places(messages)[: len(before)] for messages in chats] == [before] * 4
