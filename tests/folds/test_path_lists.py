"""Lists of paths come back, however they are sorted and whatever stands between them."""

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import FOLDS
from tests.effort import tries
from tests.folds.folding import check_fold

COLUMNS = ("", "", "", " M ", "?? ", "M\t", "  12 ", "3\t4\t", "\tmodified:   ")
OTHERS = ("", "  indented", "    more", "source/", "12:x")
TOPS = ("", "./", "/home/ann/", "C:\\work\\", "../")
FOLDERS = ("source", "source/redline", "source/redline/folds", "docs", "(auth)", "My Folder", "..")
NAMES = (
    "a.py",
    "b c.txt",
    "Makefile",
    "12",
    "M x.py",
    "folder/",
    "",
    " d.py",
    "e.rs:12:x",
    "f.rs:1:2: error: no",
    "g.c | 3 ++",
)


@tries(300)
@given(
    entries=st.lists(st.tuples(st.sampled_from(COLUMNS), st.sampled_from(FOLDERS), st.sampled_from(NAMES)), max_size=12),
    top=st.sampled_from(TOPS),
    others=st.lists(st.tuples(st.integers(0, 12), st.sampled_from(OTHERS)), max_size=2),
    times=st.integers(1, 3),
)
def test_lists_come_back(entries, top, others, times):
    """With the columns of git, with names and folders of all kinds, and with other lines between."""
    lines = [f"{column}{top}{folder}/{name}" for column, folder, name in entries] * times
    for place, line in others:
        lines.insert(place, line)
    check_fold(FOLDS["path_lists"], "\n".join(lines))


def test_names_stand_below_their_folder():
    """A folder is written once, however many names it has."""
    text = "".join(f"src/redline/folds/fold_{number}.py\n" for number in range(50))
    folded = check_fold(FOLDS["path_lists"], text, "git ls-files")
    assert folded is not None
    assert folded.startswith("src/redline/folds/\n  fold_0.py\n  fold_1.py\n")
    assert folded.count("src/") == 1
