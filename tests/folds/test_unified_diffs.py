"""What git writes before the changes of a file comes back, whatever its path."""

from hypothesis import given
from hypothesis import strategies as st

from redline.folds import Output
from redline.folds.unified_diffs import UnifiedDiffs
from tests.effort import tries

PATHS = st.text(alphabet='abz/ ._-(),\t"\\é', min_size=1, max_size=20)
MODES = st.sampled_from(["", "new file mode 100644\n", "deleted file mode 100755\n", "old mode 100644\nnew mode 100755\n"])


def diff_of(path: str, mode: str, index: str, lines: list[str]) -> str:
    """The changes of one file as git writes them."""
    old = "/dev/null" if mode.startswith("new") else f"a/{path}"
    new = "/dev/null" if mode.startswith("deleted") else f"b/{path}"
    body = "".join(f"{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n{mode}index {index}\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n{body}"


@tries(200)
@given(
    st.lists(st.tuples(PATHS, MODES, st.sampled_from(["12c95ac..ee1bfc6", "12c95ac..ee1bfc6 100644"])), min_size=1, max_size=5),
    st.lists(st.sampled_from(["+a", "-b", " c", "--- a/x", "+++ b/x", "diff --git x (index 12c95ac..ee1bfc6)"]), max_size=5),
)
def test_any_diff_comes_back(files, lines):
    """With lines that look like heads among the changes."""
    text = "".join(diff_of(*file, lines) for file in files)
    folded = UnifiedDiffs().applied(Output(text))
    assert folded is None or UnifiedDiffs().unfold(folded) == text


def test_every_hunk_stays():
    """Of each file, only the head gets shorter."""
    text = "".join(diff_of(f"src/part_{number}.py", "", "12c95ac..ee1bfc6 100644", ["-old", "+new"]) for number in range(4))
    folded = UnifiedDiffs().applied(Output(text)) or ""
    assert folded.count("@@ -1 +1 @@\n-old\n+new\n") == 4
    assert "---" not in folded
