"""Blobs that no log refers to any more."""

import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation, ExecutionError
from redline.record import codec
from redline.record.blobs.blobs import reference_of
from redline.record.blobs.directory import DirectoryBlobs
from redline.record.blobs.opening import collect_garbage
from redline.record.log import ROOT
from redline.record.opening import open_log
from redline.record.records import HeadMoved, MessageAdded, Strike, StrikesApplied, ViewChanged
from redline.rules.offload_results import OffloadResults
from redline.testing import asks, conversation, says
from tests.effort import tries
from tests.record.logs import KINDS, new_address

OLD = 1_000_000.0
"""Seconds since 1970."""
NOW_MS = 2_000_000_000.0


def old_blobs(folder, *contents):
    """A directory of blobs that were stored long ago."""
    blobs = DirectoryBlobs(folder / "blobs")
    for content in contents:
        os.utime(blobs.path / blobs.put(content), (OLD, OLD))
    return blobs


def garbage(blobs, logs, **options):
    return {entry.reference for entry in collect_garbage(blobs, logs, older_than_ms=NOW_MS, **options)}


def result(number):
    return f"result {number}\n" * 300


def offloaded(log, blobs, count=4):
    """A conversation whose large results were moved to the blobs."""
    turns = [turn for number in range(count) for turn in asks("read", {}, result(number), id=f"c{number}")]
    talk = Conversation(conversation("openai_chat", [says("user", "hi"), *turns]), log=log, blobs=blobs)
    talk.request(now=0, rules=[OffloadResults(min_chars=100)])
    for entry in list(blobs.entries()):
        os.utime(blobs.path / entry.reference, (OLD, OLD))
    return talk


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_referred_to_is_never_deleted(kind, tmp_path, request):
    """Not by the present path, not by another branch, not by a strike that was undone; the rest is."""
    address = new_address(kind, tmp_path, request)
    log = open_log(address)
    blobs = old_blobs(tmp_path, b"forgotten")
    talk = offloaded(log, blobs)
    talk.undo(talk.strikes[0])
    talk.pin(4)
    talk.rewind(2)
    talk.add({"role": "user", "content": "another way"})
    log.close()
    logs = [open_log(address)]
    assert garbage(blobs, logs) == {reference_of(b"forgotten")}
    assert len(list(blobs.list())) == 5
    assert garbage(blobs, logs, delete=True) == {reference_of(b"forgotten")}
    assert set(blobs.list()) == {reference_of(result(number).encode()) for number in range(4)}


def test_every_log_counts(tmp_path):
    """What one of several refers to stays."""
    blobs = old_blobs(tmp_path)
    logs = [open_log(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    offloaded(logs[1], blobs, count=2)
    assert garbage(blobs, logs) == set()
    assert len(garbage(blobs, logs[:1])) == 2


def test_what_is_new_is_spared(tmp_path):
    """Its record may be on the way; so it may for what was there and is put again."""
    blobs = old_blobs(tmp_path, b"forgotten", b"wanted again")
    blobs.put(b"new")
    blobs.put(b"wanted again")
    an_hour_ago = (time.time() - 3600) * 1000
    found = collect_garbage(blobs, [], older_than_ms=an_hour_ago, delete=True)
    assert [entry.reference for entry in found] == [reference_of(b"forgotten")]
    assert set(blobs.list()) == {reference_of(b"new"), reference_of(b"wanted again")}


def test_what_is_put_between_finding_and_deleting_is_spared(tmp_path):
    """Though it was found to be old."""
    blobs = old_blobs(tmp_path, b"a")

    class LogThatIsReadMeanwhile(type(open_log(tmp_path / "x.jsonl"))):
        def read(self, after=ROOT):
            blobs.put(b"a")
            return super().read(after)

    assert garbage(blobs, [LogThatIsReadMeanwhile(tmp_path / "y.jsonl")], delete=True) == set()
    assert blobs.get(reference_of(b"a")) == b"a"


def test_a_bucket_is_collected_too(new_object_store, tmp_path):
    """By the dates that its server gives."""
    blobs = new_object_store()
    kept = blobs.put(b"kept")
    forgotten = blobs.put(b"forgotten")
    log = open_log(tmp_path / "chat.jsonl")
    log.append([MessageAdded(payload(kept))], parent=ROOT)
    now_ms = time.time() * 1000
    assert collect_garbage(blobs, [log], older_than_ms=now_ms - 3_600_000, delete=True) == []
    (deleted,) = collect_garbage(blobs, [log], older_than_ms=now_ms + 60_000, delete=True)
    assert (deleted.reference, list(blobs.list())) == (forgotten, [kept])


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_damaged_log_stops_it(kind, tmp_path, request):
    """What stood there cannot be known, so nothing is deleted."""
    blobs = old_blobs(tmp_path, b"perhaps forgotten")
    address = new_address(kind, tmp_path, request)
    log = open_log(address)
    for number in range(3):
        log.append([MessageAdded(json.dumps({"role": "user", "content": f"number-{number}"}).encode())], parent=number - 1)
    log.close()
    file = next(file for file in tmp_path.iterdir() if file.is_file())
    file.write_bytes(file.read_bytes().replace(b"number-1", b"number-X"))
    with pytest.raises(ExecutionError, match="Leave its blobs"):
        garbage(blobs, [open_log(address)], delete=True)
    assert len(list(blobs.list())) == 1


def test_what_a_crash_left_unfinished_does_not_stop_it(tmp_path):
    """An append that was never acknowledged refers to nothing."""
    blobs = old_blobs(tmp_path, b"forgotten")
    log = open_log(tmp_path / "chat.jsonl")
    log.append([MessageAdded(b'{"role":"user","content":"x"}')], parent=ROOT)
    log.close()
    with (tmp_path / "chat.jsonl").open("ab") as file:
        file.write(b'{"crc":"0000')
    assert garbage(blobs, [open_log(tmp_path / "chat.jsonl")], delete=True) == {reference_of(b"forgotten")}


REFERENCE = reference_of(b"content")
STRIKE = Strike(0, "rule", 0, ("content",), "stub", "because", 2, 1)


def strike(**fields):
    return Strike(**{name: getattr(STRIKE, name) for name in STRIKE.__struct_fields__} | fields)


def payload(text):
    return json.dumps({"role": "user", "content": text}).encode()


MENTIONS = {
    "in a strike's reference": StrikesApplied((strike(reference=REFERENCE),)),
    "in a strike's text": StrikesApplied((strike(replacement=f"(reference={REFERENCE!r})"),)),
    "in a strike's object": StrikesApplied((strike(replacement={"text": [REFERENCE]}),)),
    "in a strike that a rewind kept": HeadMoved((strike(replacement=f"stub {REFERENCE}"),)),
    "in a message": MessageAdded(payload(f"recall {REFERENCE}")),
    "after an escape that ends in a digit": MessageAdded(payload(f"\x0b{REFERENCE}")),
    "beside invalid text": StrikesApplied((strike(replacement=f"\ud83d {REFERENCE}"),)),
    "in a message that was inserted": ViewChanged(((0, 1),), appended=(payload(REFERENCE),)),
    "in a version": ViewChanged(((0, 1),), replaced=((0, payload(REFERENCE)),)),
}


@pytest.mark.parametrize("record", MENTIONS.values(), ids=MENTIONS.keys())
def test_a_reference_counts_wherever_it_stands(record, tmp_path):
    """In every record that can hold one, in the log as it was written."""
    blobs = old_blobs(tmp_path, b"content", b"forgotten")
    open_log(tmp_path / "chat.jsonl").append([record], parent=ROOT)
    assert garbage(blobs, [open_log(tmp_path / "chat.jsonl")]) == {reference_of(b"forgotten")}


@tries(60)
@given(data=st.data())
def test_whatever_is_mentioned_anywhere_stays(data, tmp_path_factory):
    """Any blobs, any of them mentioned in any message on any branch: exactly the others are garbage."""
    folder = tmp_path_factory.mktemp("gc")
    contents = data.draw(st.lists(st.binary(max_size=5), unique=True, max_size=6))
    blobs = old_blobs(folder, *contents)
    log = open_log(folder / "chat.jsonl")
    mentioned = data.draw(st.lists(st.sampled_from(contents), unique=True)) if contents else []
    for number, content in enumerate(mentioned):
        before, after = data.draw(st.text(max_size=4)), data.draw(st.text(max_size=4))
        log.append(
            [MessageAdded(payload(f"{before}{reference_of(content)}{after}"))], parent=data.draw(st.integers(ROOT, number - 1))
        )
    expected = {reference_of(content) for content in contents if content not in mentioned}
    assert garbage(blobs, [log], delete=True) == expected
    assert set(blobs.list()) == {reference_of(content) for content in mentioned}


@pytest.mark.parametrize("place", ["its text", "its reference", "its line break"])
def test_a_damaged_last_record_stops_it(place, tmp_path):
    """Also when the damage was found, and cut off, by an earlier process; until somebody has looked at it (R66)."""
    blobs = old_blobs(tmp_path, b"content")
    path = tmp_path / "chat.jsonl"
    log = open_log(path)
    log.append([MessageAdded(payload("first"))], parent=ROOT)
    log.append([MessageAdded(payload(f"text {REFERENCE}"))], parent=0)
    log.close()
    content = path.read_bytes()
    at = {"its text": content.rindex(b"text "), "its reference": content.rindex(REFERENCE.encode()) + 7, "its line break": -1}
    changed = bytearray(content)
    changed[at[place]] ^= 1
    path.write_bytes(changed)
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"chat\.jsonl\.damaged holds damaged records .* collect again"):
            garbage(blobs, [open_log(path)], delete=True)
    assert len(list(blobs.list())) == 1
    path.with_name("chat.jsonl.damaged").unlink()
    assert garbage(blobs, [open_log(path)], delete=True) == {REFERENCE}


def test_a_record_beyond_a_reader_stops_it(tmp_path):
    """What it refers to cannot be known either (R66)."""
    blobs = old_blobs(tmp_path, b"content")
    log = open_log(tmp_path / "chat.jsonl")
    log.append([MessageAdded(payload("first"))], parent=ROOT)
    log.close()
    with (tmp_path / "chat.jsonl").open("ab") as file:
        file.writelines(codec.sealed_lines([b'{"type":"from the future"}'], first=1, parent=0))
    with pytest.raises(ExecutionError, match="Leave its blobs"):
        garbage(blobs, [open_log(tmp_path / "chat.jsonl")], delete=True)


def test_what_a_torn_last_record_names_stays(tmp_path):
    """A crash cut it short; as long as what is left of it is kept, so is what it names (R66)."""
    blobs = old_blobs(tmp_path, b"content", b"forgotten")
    path = tmp_path / "chat.jsonl"
    log = open_log(path)
    log.append([MessageAdded(payload("first"))], parent=ROOT)
    log.append([MessageAdded(payload(f"text {REFERENCE} and more"))], parent=0)
    log.close()
    path.write_bytes(path.read_bytes()[:-6])
    assert garbage(blobs, [open_log(path)], delete=True) == {reference_of(b"forgotten")}
    assert garbage(blobs, [open_log(path)], delete=True) == set()
    path.with_name("chat.jsonl.torn").unlink()
    assert garbage(blobs, [open_log(path)], delete=True) == {REFERENCE}
