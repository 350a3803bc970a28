import pytest

from redline.laws.accepted_media import AcceptedMedia
from tests.laws.histories import broken_by, cases_of


@pytest.mark.parametrize("case", cases_of("accepted_media"), ids=lambda case: case["id"])
def test_law_finds_its_cases(case):
    """What the table of providers' rules says to break this law is found by it, and by its rule."""
    assert broken_by(AcceptedMedia(), case["messages"], case["format"])
    assert case["format"] in AcceptedMedia.rules
