import pytest

from redline.cli import output

ROWS = [("a", 1234), ("b", 5)]


@pytest.mark.parametrize("with_rich", [True, False])
def test_table_has_headings_and_numbers_with_commas(monkeypatch, capsys, with_rich):
    """The same numbers come with rich and without it."""
    if not with_rich:
        monkeypatch.setattr(output, "_console", lambda: None)
    output.show_rows(("name", "tokens"), ROWS, left_out=3)
    shown = capsys.readouterr().out
    assert [word in shown for word in ("name", "tokens", "1,234", "… and 3 more")] == [True] * 4


def test_plain_lines_are_cut_to_the_terminal(monkeypatch, capsys):
    """Without rich a line that is too long is cut, not wrapped."""
    monkeypatch.setattr(output, "_console", lambda: None)
    monkeypatch.setenv("COLUMNS", "20")
    output.show_rows(("text",), [("x" * 50,)])
    assert max(map(len, capsys.readouterr().out.splitlines())) == 20


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
