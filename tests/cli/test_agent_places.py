from pathlib import Path

import pytest

from redline.cli.agent_places import AGENT_PLACES
from redline.mending import MENDERS
from redline.transcripts import READERS


@pytest.mark.parametrize(
    "mender", [mender for mender in MENDERS if mender.name != "plain lists of messages"], ids=lambda m: m.name
)
def test_every_agent_whose_files_are_repaired_has_its_place(mender):
    """What was repaired must be put somewhere."""
    assert set(mender.formats) <= AGENT_PLACES.keys()


def test_places_are_of_agents_that_are_read():
    """Nothing is left over from a reader that is gone."""
    assert AGENT_PLACES.keys() <= {reader.name for reader in READERS}
    assert str(AGENT_PLACES["codex"]).startswith("Codex looks for its sessions at ~/.codex/sessions/")


@pytest.mark.parametrize("place", AGENT_PLACES.values(), ids=lambda place: place.name)
def test_every_place_is_documented(place):
    """The page on repairing files has the same table."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "formats-and-transcripts.md").read_text(encoding="utf-8")
    assert f"| {place.name} | {place.looks_at} | {place.resumes_by} |" in page.replace("`", "")
