from redline.tools.paths import patch_writes
from redline.tools.tool import Writes

PATCH = """*** Begin Patch
*** Add File: docs/new page.md
+*** Update File: not/this.py
+text
*** Update File: src/a.py
*** Move to: src/b.py
@@
-old
+new
 *** Delete File: not/that.py
*** Delete File: gone.py
*** End Patch"""


def test_every_file_of_a_patch() -> None:
    """Added, moved and deleted files are written, updated ones edited; headers inside the content are content."""
    assert patch_writes(PATCH) == (
        Writes("docs/new page.md"),
        Writes("src/a.py", is_edit=True),
        Writes("src/b.py"),
        Writes("gone.py"),
    )


def test_carriage_returns_are_no_part_of_a_path() -> None:
    """A patch with Windows line ends names the same files."""
    assert patch_writes("*** Update File: a.py\r\n@@\r\n") == (Writes("a.py", is_edit=True),)


def test_text_that_is_no_patch() -> None:
    """Other text changes nothing."""
    assert patch_writes("--- a/x\n+++ b/x\n") == ()
