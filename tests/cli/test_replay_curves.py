from importlib.util import find_spec

import pytest

from redline.cli.replay_report import bars, draw_curves, show_curves
from redline.errors import MissingExtraError
from redline.sessions.replay.comparison import compare
from tests.sessions.replay.sessions import RULE
from tests.sessions.replay.test_comparison import long_session


def test_bars_are_as_high_as_their_values():
    """From the lowest bar to the highest, one for each value."""
    assert bars([0, 50, 100], 100) == "▁▅█"
    assert bars([], 0) == ""
    assert bars([0, 0], 0) == "▁▁"


def test_many_values_fit_on_a_line():
    """The highest of several stands for them."""
    drawn = bars([1.0] * 500 + [2.0], 2.0)
    assert len(drawn) <= 60
    assert drawn.endswith("█")


@pytest.mark.parametrize("width", [60, 100])
def test_curves_fit_the_terminal(monkeypatch, capsys, width):
    """Each policy has a line with its name, its bars and its last value, no wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(width))
    session = compare(long_session(), {"rule": RULE}, ("documents",), with_requests=True)
    show_curves(session, ("documents",), "rule")
    lines = capsys.readouterr().out.splitlines()
    bars_of = [line for line in lines if "▁" in line or "█" in line]
    cost = f"{session.outcomes['rule']['documents'].cost:,.0f}"
    assert [line.split()[0] for line in bars_of] == ["none", "documents"] * 2
    assert bars_of[-1].endswith(cost)
    assert max(map(len, lines)) <= width


def test_a_picture_is_drawn(tmp_path):
    """The PNG is written; without matplotlib the error names the extra."""
    session = compare(long_session(), {"rule": RULE}, ("documents",), with_requests=True)
    path = tmp_path / "out.png"
    if find_spec("matplotlib") is None:
        with pytest.raises(MissingExtraError, match=r"redline-context\[plot\]"):
            draw_curves(session, ("documents",), path)
        return
    draw_curves(session, ("documents",), path)
    assert path.read_bytes().startswith(b"\x89PNG")
