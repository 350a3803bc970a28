"""What agents say in the place of words."""

import re

import pytest

from redline.rules import RULES, MaskedResults
from redline.rules.facts import SENTENCES, pointer_kind, points_to_latest
from redline.values.messages import Media, Text, ToolResult
from tests.rules.folding import marked, step, steps

WASTED = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
UNCHANGED = (
    "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current"
    " — refer to that instead of re-reading."
)
SAID = {
    WASTED: "earlier",
    UNCHANGED: "earlier",
    '{"status": "unchanged", "message": "File unchanged since last read. The content from the earlier read_file result in this '
    'conversation is still current — refer to that instead of re-reading.", "path": "a.py", "dedup": true}': "earlier",
    '<system-reminder>This file is already in your context (see "Contents of /p/CLAUDE.md" above) and has not changed on disk.'
    " Use that content instead of re-reading.</system-reminder>": "earlier",
    "Image not read again: Read has already returned this unchanged image at least 3 times.": "earlier",
    '{"catalog_unchanged":true,"note":"The operation catalog is unchanged since the earlier \\"list\\" result in this '
    'conversation (hash 12)"}': "earlier",
    "[outdated - see the latest file content]": "latest",
    '[{"query":"a.py","result":"[outdated - see the latest file content]","success":true}]': "latest",
    "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for the most"
    " up to date version of this file.]": "latest",
    "[Old tool result content cleared]": "gone",
    "[Orphaned tool result removed due to conversation resume]": "gone",
    "The file is unchanged since the last read; see above.": "earlier",
    "Content unchanged from previous read.": "earlier",
    "See the previous tool result.": "earlier",
    "This file was already read; its content is shown above.": "earlier",
}
WORDS = (
    "",
    "ok",
    "Already up to date.",
    "def last_read(): return 'see above'",
    "The file /p/a.py has been updated successfully. (file state is current in your context — no need to Read it back)",
    "File created successfully at: /p/a.py (file state is current in your context — no need to Read it back)",
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress.",
    "Requirement already satisfied: pip in ./lib (24.0)",
    "2 passed, see the report in out/report.html",
    "<persisted-output>\nOutput too large (1.2MB). Full output saved to: /t/1.txt\n\nPreview:\nx\n</persisted-output>",
    "On branch main\nnothing to commit, working tree clean",
    "Old tool result content cleared is what Claude Code says",
)


def result(text: str) -> ToolResult:
    return ToolResult("c", (Text(text),), at=("content", 0))


@pytest.mark.parametrize(("text", "kind"), SAID.items())
def test_a_sentence_of_an_agent_is_no_result(text, kind):
    """R101: as its program has it, in any white space; with words besides it is a result like any other."""
    assert pointer_kind(result(text)) == kind
    assert pointer_kind(result(text.replace(" ", "\n"))) == kind
    assert pointer_kind(result(text + "\n" + "x = 1\n" * 200)) is None
    assert pointer_kind(ToolResult("c", (Text(text), Media("image/png", "x")))) is None
    assert points_to_latest(text + "\n" + "x = 1\n" * 200) == (kind == "latest")


@pytest.mark.parametrize("text", WORDS)
def test_words_are_words(text):
    """What only sounds like a pointer is a result."""
    assert pointer_kind(result(text)) is None


def test_every_sentence_is_tried():
    """Each pattern of the table finds at least one of the sentences above."""
    for one in SENTENCES:
        pattern = re.compile(one.pattern.replace(" ", r"\s+"), re.IGNORECASE | re.DOTALL)
        assert any(pattern.search(text) for text, kind in SAID.items() if kind == one.kind), one


@pytest.mark.parametrize("text", [WASTED, UNCHANGED, "[Old tool result content cleared]"])
@pytest.mark.parametrize("name", RULES)
def test_a_pointer_is_no_read_and_takes_no_place(name, text):
    """R102: a file is read, and five more reads of it are answered by a pointer: no rule marks anything because of those."""
    content = "a line of the file, with some words in it\n" * 40
    turns = steps(("Read", {"file_path": "a.py"}, content), ("Bash", {"command": "make"}, content))
    pointers = [turn for number in range(10, 15) for turn in step(number, "Read", {"file_path": "a.py"}, text)]
    found = marked(RULES[name](), [*turns, *pointers])
    assert not any(index >= len(turns) for index in found)
    if name != "faded":  # it goes by age in requests, which the pointers add
        assert found == marked(RULES[name](), turns)
    assert marked(MaskedResults(keep_recent=2), [*turns, *pointers]) == []
