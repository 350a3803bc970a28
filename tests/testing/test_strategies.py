import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, check, detect_format
from redline.testing import conversations, turns
from tests.effort import tries


@pytest.mark.parametrize("format", FORMATS)
@tries(200)
@given(data=st.data())
def test_generated_conversations_are_legal(format, data):
    """What the strategy makes breaks no law of its format, and is recognised as that format once a tool was used."""
    history = data.draw(conversations(format))
    assert check(history, format=format) == []
    if any(message.calls for message in (FORMATS[format].read(payload) for payload in history)):
        assert detect_format(history).name == format


@given(turns())
def test_the_user_begins(history):
    """Every conversation starts with the user."""
    assert history[0][0] == "user"


def test_without_hypothesis_the_error_names_the_extra():
    """The builders need nothing; asking for a strategy without Hypothesis says what to install."""
    code = "import sys; sys.modules['hypothesis'] = None\nimport redline.testing\nredline.testing.turns"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'redline-context[testing]'" in done.stderr
