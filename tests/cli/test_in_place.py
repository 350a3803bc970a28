import os

import pytest

from redline import ExecutionError, mend_transcript, read_transcript
from redline.cli.repair import programs_with, replace_in_place
from tests.cli.sample import write_session


@pytest.fixture
def file(tmp_path):
    return write_session(tmp_path / "s.jsonl", is_open=True)


def test_the_old_file_stays_beside_the_new_one(file):
    """With its permissions; a backup from before is not overwritten (R42)."""
    file.chmod(0o640)
    before = file.read_bytes()
    (file.parent / "s.jsonl.bak").write_text("older")
    backup = replace_in_place(mend_transcript(file, strategy="answer"), before)
    assert (backup.name, backup.read_bytes()) == ("s.jsonl.bak.1", before)
    assert (file.parent / "s.jsonl.bak").read_text() == "older"
    assert [one.stat().st_mode & 0o777 for one in (file, backup)] == [0o640, 0o640]
    assert mend_transcript(file).fixes == ()
    assert len(read_transcript(file).conversations[0].entries) == 9
    assert sorted(one.name for one in file.parent.iterdir()) == ["s.jsonl", "s.jsonl.bak", "s.jsonl.bak.1"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
def test_the_owner_stays_the_owner(file):
    """A repair by the superuser must not lock the agent out."""
    os.chown(file, 12345, 12345)
    backup = replace_in_place(mend_transcript(file, strategy="answer"), file.read_bytes())
    assert [(one.stat().st_uid, one.stat().st_gid) for one in (file, backup)] == [(12345, 12345)] * 2


def test_a_link_stays_a_link(file, tmp_path):
    """What it leads to is replaced, and the backup is beside that."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.symlink_to(file)
    backup = replace_in_place(mend_transcript(link, strategy="answer"), file.read_bytes())
    assert (link.is_symlink(), backup) == (True, file.parent / "s.jsonl.bak")
    assert mend_transcript(file).fixes == ()


def test_a_file_that_changed_meanwhile_is_left_alone(file):
    """Its agent is running: what it said since would be lost (R42)."""
    before, mending = file.read_bytes(), mend_transcript(file)
    with file.open("ab") as agent:
        agent.write(b'{"type": "user"}\n')
    after = file.read_bytes()
    with pytest.raises(ExecutionError, match="was changed"):
        replace_in_place(mending, before)
    assert file.read_bytes() == after
    assert [one.name for one in file.parent.iterdir()] == ["s.jsonl"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_a_folder_that_cannot_be_written(file):
    """Nothing is changed, and the error says why."""
    file.parent.chmod(0o500)
    try:
        with pytest.raises(ExecutionError, match=r"s\.jsonl"):
            replace_in_place(mend_transcript(file), file.read_bytes())
    finally:
        file.parent.chmod(0o700)


def test_one_s_own_handles_do_not_count(file):
    """Redline itself has the file open while it reads it."""
    with file.open("rb"):
        assert programs_with(file) == []
