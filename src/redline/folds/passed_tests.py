"""Lines of tests that passed are left out; how many there were is said, and where they can be read."""

import re

from redline.folds.fold import Output, PartialFold
from redline.folds.left_out import without_lines
from redline.folds.routine_lines import LIKELY_TESTS, PASSED_TESTS, routine_lines

_SUMMARY = re.compile(
    r"\n[ \t]*(?:\d+ (?:passing|passed|pass|tests?)\b|# tests \d|ℹ tests \d|Tests?:? +\d|Test Files? +\d|Test Suites: "
    r"|Ran \d+ tests?|OK \(\d+ test|1\.\.\d|\[info\] (?:Tests: succeeded|Passed: Total) |Test Successful)"
)
"""mocha, TAP, node, Jest, Vitest, Pest, PHPUnit, Bun, sbt and Alcotest say so at the end, bats at the beginning."""


class PassedTests(PartialFold):
    """`[41 lines of passed tests left out; all of it: …]` replaces a run of them; summaries and tests that did not run stay."""

    name = "passed_tests"

    def fold(self, output: Output) -> str | None:
        """The text without the tests that passed."""
        if not output.has_routine_lines:
            return None
        numbers = routine_lines(output.plain, PASSED_TESTS)
        likely = routine_lines(output.plain, LIKELY_TESTS)
        if likely and _SUMMARY.search(f"\n{output.plain}"):
            numbers |= likely
        return without_lines(output, numbers, "passed tests")
