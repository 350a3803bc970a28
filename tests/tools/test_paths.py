import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from redline.tools.paths import normalize_path, paths_of, rebase

POSIX = "/home/u/proj"
WINDOWS = "C:\\code\\app"


@pytest.mark.parametrize(
    "spelling",
    [
        "src/a.ts",
        "./src/a.ts",
        "src//a.ts",
        "src/./a.ts",
        "src/x/../a.ts",
        "src\\a.ts",
        "src/a.ts/",
        "../proj/src/a.ts",
        "/home/u/proj/src/a.ts",
        "//home/u//proj/src/a.ts",
        "/home/u/proj/../proj/src/a.ts",
    ],
)
def test_spellings_under_a_posix_root(spelling: str) -> None:
    """Relative and absolute, dots, doubled and trailing separators and backslashes are one file."""
    assert normalize_path(spelling, POSIX) == "src/a.ts"


@pytest.mark.parametrize(
    "spelling",
    [
        "src\\a.ts",
        "SRC/A.TS",
        "c:/code/app/src/a.ts",
        ".\\src\\.\\a.ts",
        "C:\\code\\app\\src\\..\\src\\a.ts",
        "\\code\\app\\src\\a.ts",
        "/c/code/app/src/a.ts",
        "C:src/a.ts",
        "src\\\\a.ts\\",
    ],
)
def test_spellings_under_a_windows_root(spelling: str) -> None:
    """Under a Windows root case and drive letters do not matter, on whatever system this runs."""
    assert normalize_path(spelling, WINDOWS) == "src/a.ts"


@pytest.mark.parametrize("root", ["F:/Projects/snow-cli", "f:\\projects\\snow-cli\\", "F:/Projects/x/../snow-cli"])
def test_root_may_be_spelled_in_any_way(root: str) -> None:
    """The root is brought to one spelling too."""
    assert normalize_path("F:/Projects/snow-cli/src/B.tsx", root) == "src/b.tsx"


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("/etc/hosts", POSIX, "/etc/hosts"),
        ("../other/a.ts", POSIX, "/home/u/other/a.ts"),
        ("/home/u/proj2/a.ts", POSIX, "/home/u/proj2/a.ts"),
        ("D:/code/app/src/a.ts", WINDOWS, "d:/code/app/src/a.ts"),
        ("C:/code/app2/a.ts", WINDOWS, "c:/code/app2/a.ts"),
        ("\\\\server\\share\\a.ts", WINDOWS, "//server/share/a.ts"),
    ],
)
def test_outside_the_root_is_absolute(path: str, root: str, expected: str) -> None:
    """A path outside the root keeps its absolute form, also where its name merely begins like the root."""
    assert normalize_path(path, root) == expected


@pytest.mark.parametrize(("path", "root"), [(".", POSIX), ("", POSIX), (POSIX + "/", POSIX), ("c:/CODE/app", WINDOWS)])
def test_the_root_itself_is_a_dot(path: str, root: str) -> None:
    """The root folder has a name too."""
    assert normalize_path(path, root) == "."


def test_case_matters_under_other_roots() -> None:
    """Only Windows roots ignore case."""
    assert normalize_path("src/A.ts", POSIX) != normalize_path("src/a.ts", POSIX)


def test_the_system_root_holds_everything() -> None:
    """Under `/` every absolute path is relative."""
    assert normalize_path("/etc/hosts", "/") == "etc/hosts"
    assert normalize_path("C:\\etc\\hosts", "C:\\") == "etc/hosts"


@pytest.mark.parametrize("root", ["", ".", "proj", "~/proj"])
def test_a_root_that_is_not_absolute_counts_as_none(root: str) -> None:
    """It does not say where it lies, so paths are compared as they are."""
    assert normalize_path("../other/./a.ts", root) == "../other/a.ts"
    assert normalize_path("/etc//hosts", root) == "/etc/hosts"


pieces = st.lists(
    st.sampled_from(["a", "B", "..", ".", "", "/", "\\", "//", ":", "c:", "C:\\", "/c/", "~", "home/u/proj", "İ", "\ud800"])
).map("".join)
roots = st.sampled_from([POSIX, "/", WINDOWS, "C:/", "\\\\server\\share\\p", "", "rel"])


@given(pieces | st.text(), roots)
def test_normalising_again_changes_nothing(path: str, root: str) -> None:
    """A normalised path is its own spelling."""
    once = normalize_path(path, root)
    assert normalize_path(once, root) == once


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", ".", "..", ""]), st.sampled_from(["/", "\\"]))),
    st.sampled_from([POSIX, WINDOWS]),
)
def test_parts_are_resolved_one_by_one(parts: list[tuple[str, str]], root: str) -> None:
    """A dot stays, two dots go up, an empty part is nothing, whichever way the slashes lean."""
    left: list[str] = []
    for part, _ in parts:
        assume(part != ".." or left)
        left = left[:-1] if part == ".." else [*left, part] if part in ("a", "b") else left
    assert normalize_path("." + "".join(slash + part for part, slash in parts), root) == ("/".join(left) or ".")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.ts", ("a.ts",)),
        (["a.ts", "b.ts"], ("a.ts", "b.ts")),
        ([{"path": "a.ts", "startLine": 1}, {"path": "./b.ts"}], ("a.ts", "./b.ts")),
        (["a.ts", {"path": "b.ts"}, "", None, 3, {}, {"path": ""}, {"path": 1}, ["c.ts"]], ("a.ts", "b.ts")),
        ('["a.ts", {"path": "b.ts"}]', ("a.ts", "b.ts")),
        ("[id].tsx", ("[id].tsx",)),
        (["a.ts", "a.ts"], ("a.ts",)),
        ("", ()),
        ("  ", ()),
        (None, ()),
        (42, ()),
        ({"path": "a.ts"}, ()),
        ([], ()),
        ("[" * 100_000, ("[" * 100_000,)),
    ],
)
def test_paths_in_all_their_forms(value: object, expected: tuple[str, ...]) -> None:
    """A string, a list of strings or objects, a mix, or a list as JSON text; unusable entries are skipped."""
    assert paths_of(value) == expected


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, unique=True))
def test_a_list_says_the_same_as_its_json(paths: list[str]) -> None:
    """A list of paths and its JSON text mean the same."""
    assert paths_of(json.dumps(paths)) == paths_of(paths) == tuple(paths)


@pytest.mark.parametrize(
    ("path", "base", "expected"),
    [
        ("a.py", "src", "src/a.py"),
        ("/a.py", "src", "/a.py"),
        ("C:\\a.py", "src", "C:\\a.py"),
        (".", "src", "src"),
        ("a.py", None, "a.py"),
    ],
)
def test_rebase(path: str, base: str | None, expected: str) -> None:
    """A relative path is named from outside of the folder; an absolute one stays."""
    assert rebase(path, base) == expected


def test_a_text_longer_than_any_path_is_its_own_spelling() -> None:
    """Nothing is worked out for it (R52)."""
    long = "a/../" * 1000
    assert normalize_path(long, POSIX) == normalize_path(long, WINDOWS) == long


def test_objects_may_name_their_path_in_any_usual_way() -> None:
    """As arguments may (R27)."""
    assert paths_of([{"filePath": "a"}, {"file_path": "b"}, {"path": "", "uri": "c"}]) == ("a", "b", "c")
