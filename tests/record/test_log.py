import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation
from redline.errors import ValidationError
from redline.record.backends.memory import MemoryLog
from redline.record.log import ROOT, Header, Stored, Torn, check_durability, check_parent
from redline.record.opening import open_log
from redline.record.records import MessageAdded, Strike, StrikesApplied, ViewChanged
from tests.effort import tries
from tests.record.logs import KINDS, append_each, environment, message, new_address, records, said
from tests.record.writer import text_of

WRITER = Path(__file__).with_name("writer.py")
KILL_ROUNDS = int(os.environ.get("REDLINE_KILL_ROUNDS", "10"))
WRITER_TURNS = int(os.environ.get("REDLINE_WRITER_TURNS", "300"))


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    return new_address(request.param, tmp_path, request)


def start_writer(address, durability, name, turns, *, is_listening):
    mood = "listening" if is_listening else "deaf"
    return subprocess.Popen(
        [sys.executable, str(WRITER), address, durability, name, str(turns), mood],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


# --- the same in all of them


@given(st.data())
@tries(30)
def test_all_logs_hold_the_same_when_opened_again_after_each_step(tmp_path_factory, postgres, data):
    """Any sequence of appends, opened anew after each, gives the same records, parents and numbers in all four logs."""
    folder = tmp_path_factory.mktemp("logs")
    addresses = [str(folder / "a.jsonl"), f"sqlite:///{folder}/b.db#c", f"{postgres}#{folder}"]
    memory, count = MemoryLog(), 0
    for batch in data.draw(st.lists(st.lists(records(), max_size=3), max_size=6)):
        parent = data.draw(st.integers(ROOT, count - 1))
        expected = memory.append(batch, parent=parent)
        for address in addresses:
            log = open_log(address, durability="os")
            assert log.append(batch, parent=parent) == expected
            log.close()
        count += len(batch)
        after = data.draw(st.integers(ROOT, count))
        for address in addresses:
            log = open_log(address)
            assert list(log.read()) == list(memory.read())
            assert list(log.read(after)) == list(memory.read(after))
            assert log.torn == ()
            log.close()


def test_what_others_append_is_read(address):
    """A log that is open sees what another appends after the number it knows, and numbers go on from there."""
    mine, other = open_log(address), open_log(address)
    first = mine.append([message("a")], parent=ROOT)
    assert [stored.number for stored in other.read()] == [0]
    second = other.append([message("b"), message("c")], parent=first)
    assert mine.append([message("d")], parent=first) == 3
    assert [(stored.number, stored.parent) for stored in mine.read(first)] == [(1, 0), (2, 1), (3, 0)]
    assert [stored.number for stored in other.read(second)] == [3]
    assert said(mine) == said(other) == ["a", "b", "c", "d"]


def test_nothing_is_made_before_the_first_append(address, tmp_path):
    """Opening and reading a log that is not there leaves no trace, and so does appending nothing."""
    log = open_log(address)
    assert list(log.read()) == []
    assert log.append([], parent=ROOT) == ROOT
    assert list(tmp_path.iterdir()) == []


def test_header_is_stored_once(address):
    """The header of whoever made the log is what every later one sees."""
    origin = Header(conversation="first", origin="other.jsonl", message_format="anthropic")
    log = open_log(address, header=origin)
    log.append([message("a")], parent=ROOT)
    again = open_log(address, header=Header(conversation="second"))
    again.append([message("b")], parent=0)
    assert log.header == again.header == open_log(address).header == origin


def test_parent_must_exist(address):
    """Nothing is appended after a record that is not there."""
    log = open_log(address)
    with pytest.raises(ValidationError, match="There is no record 0 to append after; the log has 0 records"):
        log.append([message("a")], parent=0)
    log.append([message("a")], parent=ROOT)
    with pytest.raises(ValidationError, match="no record -2"):
        log.append([message("b")], parent=-2)
    assert said(log) == ["a"]


def test_closed_log_opens_again(address):
    """Closing lets go of files and connections; using the log again takes them up again."""
    log = open_log(address)
    append_each(log, "ab")
    log.close()
    log.close()
    append_each(log, "c")
    assert said(log) == ["a", "b", "c"]


def test_secrets_are_taken_out_before_they_are_written(address, tmp_path):
    """The hook sees payloads, new versions and strikes, and what it takes out is in no file."""
    log = open_log(address, redact=lambda content: content.replace(b"s3cret", b"[gone]"))
    strike = Strike(0, "r", 0, ("content",), "begins with s3cret", "why", 9, 1)
    view = ViewChanged(((0, 1),), appended=(b'{"a":"s3cret"}',), replaced=((0, b'{"b":"s3cret"}'),))
    log.append([message("my s3cret"), view, StrikesApplied((strike,))], parent=ROOT)
    first, changed, struck = (stored.record for stored in open_log(address).read())
    assert msgspec.json.decode(first.payload)["content"] == "my [gone]"
    assert (changed.appended, changed.replaced) == ((b'{"a":"[gone]"}',), ((0, b'{"b":"[gone]"}'),))
    assert struck.strikes[0].replacement == "begins with [gone]"
    assert all(b"s3cret" not in file.read_bytes() for file in tmp_path.rglob("*"))


def test_hook_that_fails_changes_nothing(address):
    """What the hook raises comes out as it is, and no record of that append is stored."""

    def refuse(content):
        if b"b" in content:
            raise RuntimeError("no")
        return content

    log = open_log(address, redact=refuse)
    with pytest.raises(RuntimeError, match="no"):
        log.append([MessageAdded(b'{"x":"a"}'), MessageAdded(b'{"x":"b"}')], parent=ROOT)
    assert list(log.read()) == []


# --- processes


def test_killed_process_loses_nothing_it_was_promised(address):
    """A writer is killed at random moments: all that it was told is stored is there, and nothing but whole records."""
    rng = random.Random(KILL_ROUNDS)
    for turn in range(KILL_ROUNDS):
        if turn % 10 == 0:
            place, promised = f"{address}{turn}", dict[int, str]()
        promised |= promised_until_killed(place, f"loud{turn}", rng)
        log = open_log(place)
        stored = list(log.read())
        log.close()
        texts = {one.number: msgspec.json.decode(one.record.payload)["content"] for one in stored}
        assert list(texts) == list(range(len(stored)))
        assert promised.items() <= texts.items()
    assert promised


def promised_until_killed(address, name, rng):
    """What a writer was told is stored, by number. Some are killed as soon as they open the log, some when they have begun."""
    writer = start_writer(address, "fsync", name, 10**6, is_listening=False)
    lines = [writer.stdout.readline()]
    assert lines == ["ready\n"]
    if rng.random() < 0.7:
        lines.append(writer.stdout.readline())
    time.sleep(rng.random() * 0.03)
    writer.send_signal(signal.SIGKILL)
    lines += writer.communicate()[0].splitlines(keepends=True)
    told = [line.split() for line in lines[1:] if line.endswith("\n")]
    return {int(number): text_of(name, int(turn)) for number, turn in told}


def test_eight_processes_append_to_one_conversation(address):
    """All records of all processes are there, none mixed, each process's in its order and after a record it could know."""
    writers = [start_writer(address, "os", f"w{name}", WRITER_TURNS, is_listening=True) for name in range(8)]
    promised = dict[int, str]()
    for name, writer in enumerate(writers):
        lines = writer.communicate()[0].splitlines()[1:]
        promised |= {int(number): text_of(f"w{name}", int(turn)) for number, turn in map(str.split, lines)}
    log = open_log(address)
    stored = list(log.read())
    assert [one.number for one in stored] == list(range(8 * WRITER_TURNS))
    assert all(one.parent < one.number for one in stored)
    assert dict(enumerate(said(log))) == promised
    assert len(set(promised.values())) == 8 * WRITER_TURNS


def test_threads_share_a_log(address):
    """Several threads may append through one log."""
    log = open_log(address, durability="os")
    threads = [threading.Thread(target=append_each, args=(log, [f"{name}{turn}" for turn in range(20)])) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said(log)) == sorted(f"{name}{turn}" for name in "abc" for turn in range(20))


def test_forked_child_opens_the_log_for_itself(address):
    """A child that was forked while the log was open appends without getting into its parent's way."""
    script = """
import os, sys
from redline.record.opening import open_log
from tests.record.logs import append_each, message
log = open_log(sys.argv[1])
append_each(log, ["before"])
children = []
for name in "abc":
    child = os.fork()
    if child == 0:
        append_each(log, [f"{name}{turn}" for turn in range(20)])
        os._exit(0)
    children.append(child)
append_each(log, [f"p{turn}" for turn in range(20)])
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
append_each(log, ["after"])
"""
    subprocess.run([sys.executable, "-c", script, address], check=True, env=environment())
    texts = said(open_log(address))
    assert (texts[0], texts[-1]) == ("before", "after")
    assert sorted(texts[1:-1]) == sorted(f"{name}{turn}" for name in "abcp" for turn in range(20))


# --- the pieces


def test_unknown_durability_is_refused():
    """Only two promises can be asked for."""
    check_durability("os")
    with pytest.raises(ValidationError, match=r"There is no durability 'fast'. Write 'fsync' \(the default\) or 'os'"):
        check_durability("fast")


def test_first_record_has_no_parent():
    """The root is a parent in every log; a record is one only where it is."""
    check_parent(ROOT, 0)
    with pytest.raises(ValidationError, match="There is no record 0 to append after; the log has 0 records"):
        check_parent(0, 0)


def test_damage_is_told_in_a_sentence():
    """What is damaged, how much of it, and where it went."""
    assert str(Torn("Line 7 of a", 1200)) == "Line 7 of a is damaged or incomplete; its 1,200 bytes are left as they are."
    assert str(Torn("The end of a", 3, "a.torn")) == "The end of a is damaged or incomplete; its 3 bytes were moved to a.torn."


# --- a log of one's own


class Shelf:
    """The least that is a log."""

    def __init__(self):
        self.stored = []

    def append(self, records, *, parent):
        for record in records:
            self.stored.append(Stored(len(self.stored), parent, record))
            parent = len(self.stored) - 1
        return parent

    def read(self, after=ROOT):
        return iter(self.stored[after + 1 :])

    def close(self):
        pass


def test_anything_that_appends_and_reads_is_a_log():
    """A conversation can be kept in a log of one's own, and opened from it again."""
    shelf = Shelf()
    Conversation([{"role": "user", "content": "hi"}], log=shelf)
    assert [type(one.record) for one in shelf.stored] == [MessageAdded]
    assert Conversation(log=shelf).messages == [{"role": "user", "content": "hi"}]
