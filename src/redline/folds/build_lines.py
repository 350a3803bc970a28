"""Lines of building, downloading and installing are left out; how many there were is said, and where they can be read."""

from redline.folds.fold import Output, PartialFold
from redline.folds.left_out import without_lines
from redline.folds.routine_lines import BUILDING, routine_lines


class BuildLines(PartialFold):
    """`[120 lines of building left out; all of it: …]` replaces a run of them; results, warnings and errors stay."""

    name = "build_lines"

    def fold(self, output: Output) -> str | None:
        """The text without the lines of building."""
        if not output.has_routine_lines:
            return None
        return without_lines(output, routine_lines(output.plain, BUILDING), "building")
