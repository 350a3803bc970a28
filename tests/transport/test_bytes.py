"""Bytes that need no change arrive as the client wrote them; `python -m tests.measure_bytes` tries many more."""

import pytest

from redline import EN, Editor, Policy
from redline.transport.editing import WireEditor
from tests.corpus import needs_corpus
from tests.measure_bytes import generated, judged, recorded


def test_generated_bodies():
    """In whatever spelling: the very object comes back."""
    wire = WireEditor(Editor(policy=Policy(words=EN)))
    assert {judged(wire, *one) for one in generated(800)} == {"the very bytes"}


@needs_corpus
@pytest.mark.corpus
def test_recorded_sessions():
    """A legal body is never repaired, and what is not struck or repaired is not touched."""
    wire = WireEditor(Editor(policy=Policy(words=EN)))
    found = [judged(wire, *one) for number, one in enumerate(recorded()) if number % 8 == 0]
    assert "the very bytes" in found
    assert [one for one in found if one.startswith("WRONG")] == []
