from redline.cli.session_files import session_files


def test_folders_are_searched(tmp_path):
    """A folder stands for the sessions in it, a file for itself whatever its name."""
    (tmp_path / "deep").mkdir()
    for name in ("b.jsonl", "deep/a.json", "note.md"):
        (tmp_path / name).write_text("")
    found = session_files([tmp_path / "note.md", tmp_path])
    assert [path.name for path in found] == ["note.md", "b.jsonl", "a.json"]
