import pytest

from tests.inspector.support import inspector, write_log, write_transcript


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A transcript and a log."""
    place = tmp_path_factory.mktemp("sessions")
    write_transcript(place / "talk.jsonl")
    write_log(place / "chat.jsonl")
    return place


@pytest.fixture(scope="module")
def running(folder, tmp_path_factory):
    with inspector(folder, home=tmp_path_factory.mktemp("home")) as served:
        yield served
