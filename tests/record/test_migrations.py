import pytest
from msgspec import Raw

from redline.errors import LogError
from redline.record import records
from redline.record.backends.jsonl import JsonlLog
from redline.record.log import ROOT
from redline.record.records import MIGRATIONS, VERSION, check_version, migrate
from tests.record.logs import message, said
from tests.record.test_codec import sealed


def test_every_step_to_the_present_version_is_there():
    """From version 1 on there is a step for each version, and none leads beyond the present one."""
    assert set(MIGRATIONS) == set(range(1, VERSION))


def test_steps_are_taken_in_order(monkeypatch):
    """A record that is two versions old takes both steps; one of the present version takes none."""
    monkeypatch.setattr(records, "VERSION", 3)
    monkeypatch.setitem(MIGRATIONS, 1, lambda fields: {**fields, "b": Raw(bytes(fields["a"]) + b"0")})
    monkeypatch.setitem(MIGRATIONS, 2, lambda fields: {**fields, "c": Raw(bytes(fields["b"]) + b"0")})
    migrated = migrate({"a": Raw(b"1")}, 1)
    assert {name: bytes(value) for name, value in migrated.items()} == {"a": b"1", "b": b"10", "c": b"100"}
    fields = {"a": Raw(b"1")}
    assert migrate(fields, 3) is fields


@pytest.mark.parametrize(
    ("version", "problem"), [(VERSION + 1, "pip install -U redline-context"), (0, "there never was such a version")]
)
def test_version_without_a_way_is_refused(version, problem):
    """Neither a newer version nor one that never was is guessed at."""
    with pytest.raises(LogError, match=problem):
        check_version(version)


def test_log_with_records_of_two_versions_is_read(tmp_path, monkeypatch):
    """Old records stay in their file as they are, new ones follow them, and both are read."""
    monkeypatch.setitem(MIGRATIONS, 0, lambda fields: {"type": Raw(b'"message"'), "payload": fields["said"]})
    path = tmp_path / "old.jsonl"
    header = sealed('"format":"redline-log","version":0,"conversation":"old"}')
    old = sealed('"version":0,"number":0,"parent":-1,"record":{"said":{"role":"user","content":"long ago"}}}')
    path.write_bytes(header + old)
    log = JsonlLog(path)
    assert log.append([message("now")], parent=0) == 1
    assert said(JsonlLog(path)) == ["long ago", "now"]
    assert path.read_bytes().startswith(header + old)
    assert JsonlLog(path).header.version == 0


def test_record_of_a_newer_version_names_its_place(tmp_path):
    """A log that a newer Redline went on with says which line is too new."""
    path = tmp_path / "new.jsonl"
    log = JsonlLog(path)
    log.append([message("a")], parent=ROOT)
    with path.open("ab") as file:
        file.write(sealed('"version":99,"number":1,"parent":0,"record":{"type":"new"}}'))
    with pytest.raises(LogError, match=r"Line 3 of .*new\.jsonl cannot be read: it was written by a newer Redline"):
        list(JsonlLog(path).read())
