import shutil
from pathlib import Path

import pytest

from redline import mend_transcript, read_transcript
from redline.errors import TranscriptError, ValidationError
from tests.agents.transcripts.opencode_store import make_database

DATA = Path(__file__).parent / "transcripts" / "data" / "gemini"


@pytest.fixture
def project(tmp_path):
    """The folder of a project of Gemini CLI, with two sessions and a sub-agent of one of them."""
    chats = tmp_path / "chats"
    (chats / "4bda9603-467f-42df-a6c7-1e1e6ca474ee").mkdir(parents=True)
    shutil.copy(DATA / "delegated.jsonl", chats / "session-1.jsonl")
    shutil.copy(DATA / "looked.jsonl", chats / "session-2.jsonl")
    shutil.copy(DATA / "subagent.jsonl", chats / "4bda9603-467f-42df-a6c7-1e1e6ca474ee" / "99cdd4a0.jsonl")
    return tmp_path


def test_a_project_of_gemini_cli(project):
    """Its sessions, each with its sub-agents; the folder of chats may be named, too (R38)."""
    transcript = read_transcript(project)
    assert [(len(one.entries), len(one.subagents)) for one in transcript] == [(5, 1), (7, 0)]
    assert len(read_transcript(project / "chats")) == 2


def test_a_file_that_cannot_be_read_does_not_hide_the_others(project):
    """It is among the problems, by its name."""
    (project / "chats" / "session-3.json").write_text("{torn", encoding="utf-8")
    (project / "chats" / "session-4.jsonl").symlink_to(project / "chats")
    transcript = read_transcript(project)
    assert len(transcript) == 2
    assert {Path(problem.path).name for problem in transcript.problems} == {"session-3.json"}


def test_an_id_that_leads_elsewhere_is_not_followed(project):
    """Only folders beside the session are looked into."""
    path = project / "chats" / "session-2.jsonl"
    outside = '{"$set":{"sessionId":"../chats/4bda9603-467f-42df-a6c7-1e1e6ca474ee"}}\n'
    path.write_text(path.read_text(encoding="utf-8") + outside, encoding="utf-8")
    assert [len(one.subagents) for one in read_transcript(project)] == [1, 0]


def test_the_folder_of_opencode(tmp_path):
    """The database in it is read."""
    database = make_database(tmp_path)
    assert read_transcript(tmp_path).path == database


def test_other_folders_are_refused(tmp_path):
    """With what to do."""
    with pytest.raises(TranscriptError, match=r"is a folder, not a session file.*Name a file in it"):
        read_transcript(tmp_path)


def test_a_folder_is_not_repaired(project):
    """A session file in it is."""
    with pytest.raises(ValidationError, match=r"is a folder\. Name the session file"):
        mend_transcript(project)
