import re
from pathlib import Path

import pytest

from redline.cli import output
from redline.cli.formatting import width_of
from redline.cli.output import Column

ROWS = [("a", 1234), ("b", 5)]


def shown_rows(capsys, *arguments, **options):
    output.show_rows(*arguments, **options)
    return capsys.readouterr().out.splitlines()


def test_table_has_headings_and_numbers_with_commas(monkeypatch, capsys):
    """Numbers are to the right; a total is under a line of its own."""
    monkeypatch.setenv("COLUMNS", "80")
    assert shown_rows(capsys, ("name", "tokens"), ROWS, total=("2 rows", 1239), left_out=3) == [
        "name    tokens",
        "──────────────",
        "a        1,234",
        "b            5",
        "──────────────",
        "2 rows   1,239",
        "… and 3 more",
    ]


WIDE = [("a-very-long-name-of-a-file-0123456789.jsonl", "two words " * 20, 1_234_567_890, "x" * 200, 7)]
COLUMNS = ("file", Column("words", "words"), "tokens", Column("note", "note"), "problems")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_names_are_shortened_and_numbers_never(monkeypatch, capsys, width):
    """The first column stays, whole numbers stay whole, and no line is wider than the terminal (R39)."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = shown_rows(capsys, COLUMNS, WIDE)
    shown = "\n".join(lines)
    assert max(map(width_of, lines)) <= max(width, 12 + 1 + len("1,234,567,890"))
    assert ("1,234,567,890" in shown, lines[0].startswith("file"), lines[2].startswith("a-ver")) == (True, True, True)
    assert shown.replace("\n", "").count("x") == 200  # a note is folded, not cut
    if width < 200:
        assert lines[2].split()[0].endswith(".jsonl"[-5:])


@pytest.mark.parametrize("width", [40, 80])
def test_columns_are_in_line_in_any_script(monkeypatch, capsys, width):
    """Chinese letters are two columns wide."""
    monkeypatch.setenv("COLUMNS", str(width))
    _, _, *lines = shown_rows(capsys, ("name", "tokens"), [("请修复它" * 20, 12), ("fix it", 345)])
    assert len({width_of(line) for line in lines}) == 1


def test_a_cell_cannot_leave_its_row(capsys):
    """Control characters and line breaks are shown, not sent (R55)."""
    lines = shown_rows(capsys, ("na\x1b[31mme", "n"), [("a\nb\x1b]52;c;aGk=\x07", 1)])
    assert lines[2:] == ["a\\nb\\x1b]52;c;aGk=\\x07  1"]
    assert "\x1b" not in "".join(lines)


def test_a_line_stays_a_line(capsys):
    """On both streams (R55)."""
    output.say("a\r\nb\x1b[2J")
    output.show_title("t\u202e")
    output.complain("c\x07\nd")
    told = capsys.readouterr()
    assert told.out == "a\\r\\nb\\x1b[2J\n\nt\\u202e\n"
    assert told.err == "redline: c\\x07\\nd\n"


def test_every_command_prints_through_one_place():
    """Nothing reaches a terminal that was not made safe for it (R55)."""
    elsewhere = {"replay.py", "replay_tables.py", "curves.py"}
    files = [file for file in Path(output.__file__).parent.glob("*.py") if file.name not in elsewhere]
    printing = {file.name for file in files if re.search(r"click\.(echo|secho)|print\(", file.read_text(encoding="utf-8"))}
    assert printing == {"output.py"}


def test_figures_stand_to_the_right_under_folded_headings(monkeypatch, capsys):
    """The first column names the row; numbers have commas; a heading may have two lines."""
    monkeypatch.setenv("COLUMNS", "80")
    output.show_figures(("policy", "cost", "used\nlater"), [("none", "1.000", 1234), ("eager", "0.9", 5)])
    assert capsys.readouterr().out.splitlines() == [
        "              used",
        "policy  cost later",
        "──────────────────",
        "none   1.000 1,234",
        "eager    0.9     5",
    ]


@pytest.mark.parametrize("width", [10, 30, 45, 200])
def test_figures_are_never_cut(monkeypatch, capsys, width):
    """What has no room beside the others is shown below, with the names again."""
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"column{number}" for number in range(9)]
    output.show_figures(("row", *names), [("first", *range(9)), ("second", *range(9, 18))])
    shown = capsys.readouterr().out
    assert all(name in shown.split() for name in names)
    assert set(map(str, range(18))) <= set(shown.split())
    assert max(map(len, shown.splitlines())) <= max(width, len("second column0"))


def test_progress_gives_every_item():
    """The bar changes nothing about what is worked on."""
    assert list(output.progress([1, 2, 3], "reading", shown=True)) == [1, 2, 3]
