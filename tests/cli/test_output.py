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


def test_progress_gives_every_item():
    """The bar changes nothing about what is worked on."""
    assert list(output.progress([1, 2, 3], "reading", shown=True)) == [1, 2, 3]
