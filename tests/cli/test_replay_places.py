import pytest

from redline.cli.printable import width_of
from redline.cli.replay_places import show_places
from redline.replay.places import PolicyPlaces, UsedPlace

PLACE = UsedPlace(
    message=12,
    at=("content", 0),
    tool="Read",
    kind="file read",
    first_words="import os",
    struck_in=9,
    used_in=14,
    measure="strict",
    words="parse_config",
)


def test_each_use_has_three_lines(capsys, monkeypatch):
    """What was struck and when, who used it, the words; before them how many there are."""
    monkeypatch.setenv("COLUMNS", "80")
    show_places(PolicyPlaces("bold", 1200, (PLACE,)))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "Struck by `bold`, and used later",
        "Of 1,200 parts struck, 0 were quoted or read again, 1 used by the strict",
        "measure.",
        "",
        "Request 14 used what was struck in request 9 (strict):",
        "  struck  message 12, Read, file read: import os",
        "  used    parse_config",
    ]


@pytest.mark.parametrize("width", [60, 80])
def test_lines_fit_and_cannot_command_the_terminal(capsys, monkeypatch, width):
    """Text of sessions is cut to the width, and what a terminal would obey is shown instead."""
    monkeypatch.setenv("COLUMNS", str(width))
    hostile = "\x1b[2J\x1b]0;owned\x07\n" + "漢字" * 60
    place = UsedPlace(10**6, None, hostile, "other", hostile, 10**6, 10**6, "quoted", hostile)
    show_places(PolicyPlaces("clear_tool_uses_min_gain", 10**6, (place,)))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert max(map(width_of, shown.splitlines())) <= width
    assert len(shown.splitlines()) >= 7
