"""What other programs make of a tool's output before it is first sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.sessions.replay.comparison import POLICIES, compare
from redline.sessions.replay.peer_filters import (
    HEADINGS,
    PEER_FILTERS,
    RTK,
    RTK_ALONE,
    SentLines,
    cut_like_claude_code,
    cut_like_codex,
    cut_like_codex_lines,
    filter_like_rtk,
    fold_like_headroom,
    preview_like_claude_code,
    rtk_names,
)
from redline.sessions.replay.simulated_run import SessionReplay
from redline.sessions.replay.under_policy import BY_PEER, SessionSizes
from redline.values.messages import Text
from tests.sessions.replay.recorded import recorded, step
from tests.sessions.replay.sessions import RULE

NUMBERED = "\n".join(f"line {number:04}" for number in range(10_000))
COMMANDS = ("", "make", *RTK, *RTK_ALONE, "git log && git diff", "git add a; git commit")


# --- agents that cut


def test_codex_keeps_both_ends_of_ten_thousand_tokens():
    """Half of 40,000 bytes from either end; how many tokens are gone is said between them."""
    cut = cut_like_codex(NUMBERED)
    assert cut.startswith(NUMBERED[:20_000] + "…")
    assert cut.endswith("…" + NUMBERED[-20_000:])
    assert f"…{-(-(len(NUMBERED) - 40_000) // 4)} tokens truncated…" in cut
    assert cut_like_codex(NUMBERED[:40_000]) == NUMBERED[:40_000]


def test_codex_kept_ten_kibibytes_and_256_lines():
    """Whichever is less; a character is never cut in two."""
    lines = [f"{number}" for number in range(300)]
    assert cut_like_codex_lines("\n".join(lines[:256])) == "\n".join(lines[:256])
    cut = cut_like_codex_lines("\n".join(lines)).split("\n")
    assert (cut[:128], cut[-128:]) == (lines[:128], lines[-128:])
    assert "[... omitted 44 of 300 lines ...]" in cut
    wide = cut_like_codex_lines("é" * 20_000)
    assert len(wide.encode()) < 10_400
    assert set(wide.strip("é")) <= set("\n[]. abcdefghijklmnopqrstuvwxyz0123456789")


def test_claude_code_cuts_commands_alone():
    """30,000 characters of its output stay, or a preview of 2,000; what is shorter, or another tool's, does not change."""
    cut, preview = cut_like_claude_code(NUMBERED, "make"), preview_like_claude_code(NUMBERED, "make")
    assert (cut[:15_000], cut[-15_000:]) == (NUMBERED[:15_000], NUMBERED[-15_000:])
    assert "lines truncated] ..." in cut
    assert NUMBERED[:2_000] in preview
    assert len(preview) < 2_300
    for shrink in (cut_like_claude_code, preview_like_claude_code):
        assert shrink(NUMBERED, "") == NUMBERED
        assert shrink(NUMBERED[:30_000], "make") == NUMBERED[:30_000]


# --- rtk

HEADER = "diff --git a/src/a.py b/src/a.py\nindex 0123abc..4567def 100644\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,120 @@\n"
ADDED = "\n".join(f"+added {number}" for number in range(120))
DIFF = f"{HEADER}{ADDED}\ndiff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-old\n+new"
LOG = "\n\n".join(
    f"commit {number:040x}\nAuthor: Ann <ann@example.com>\nDate:   Mon\n\n    Subject {number}\n\n    Why it was done."
    for number in range(3)
)
STATUS = 'On branch main\n\nChanges not staged for commit:\n  (use "git add <file>..." to update)\n' + "\n".join(
    f"\tmodified:   src/file_{number}.py" for number in range(20)
)


def test_rtk_shortens_a_diff():
    """No headers, 100 lines of a hunk; the next hunk is there again."""
    shrunk = filter_like_rtk(DIFF, "git diff").split("\n")
    assert shrunk[1:4] == ["src/a.py", "@@ -1,2 +1,120 @@", "+added 0"]
    assert "+added 99" in shrunk
    assert "+added 100" not in shrunk
    assert shrunk[-4:] == ["@@ -1 +1 @@", "-old", "+new", "[full diff: rtk git diff --no-compact]"]


def test_rtk_says_a_commit_in_one_line():
    """Its body is gone."""
    assert filter_like_rtk(LOG, "git log -3").split("\n") == [f"0000000 Subject {number} <Ann>" for number in range(3)]


def test_rtk_lists_fifteen_changed_files():
    """The others are counted."""
    shrunk = filter_like_rtk(STATUS, "git status").split("\n")
    assert shrunk[:2] == ["On branch main", "M src/file_0.py"]
    assert shrunk[-2:] == ["M src/file_14.py", "... +5 changed"]


def test_rtk_keeps_25_matches_of_a_file():
    """Under its path; without a path all rows are of one file, if nothing else was printed."""
    found = "\n".join(f"src/a.py:{number}:{'x' * 200}" for number in range(30))
    shrunk = filter_like_rtk(found, "rg -n x").split("\n")
    assert (shrunk[0], len(shrunk), shrunk[-1]) == ("src/a.py (30):", 27, "  +5")
    assert len(shrunk[1]) == 152
    rows = "\n".join(f"{number}:{'x' * 20}" for number in range(30))
    assert filter_like_rtk(rows, "grep -n x a.py").endswith("\n  +5")
    assert filter_like_rtk(rows, "grep -n x a.py; git status") == rows
    assert filter_like_rtk(rows, "rg --files") == rows


@pytest.mark.parametrize(
    ("command", "text", "shrunk"),
    [
        ("go test ./... -v", "=== RUN   TestA\n--- PASS: TestA (0.01s)\n=== RUN   TestB\n--- FAIL: TestB (0.01s)\nFAIL", None),
        ("cargo build", "   Compiling a v1.0.0\n   Compiling b v1.0.0\nwarning: unused variable", "warning: unused variable"),
        (
            "git add . && git commit -m x",
            "[main 0123abc] x\n 1 file changed, 2 insertions(+)",
            "ok 0123abc 1 file changed, 2 insertions(+)",
        ),
        ("git push", "error: failed to push some refs to 'origin'", "error: failed to push some refs to 'origin'"),
        (
            "ls -l",
            "total 8\n-rw-r--r-- 1 me us 1234 Jan 1 10:00 a.py\ndrwxr-xr-x 2 me us 64 Jan 1 10:00 target",
            "a.py  1234",
        ),
        ("find . -name x", "./src/deep/a.py\n./src/deep/b.py\n./node_modules/c.py", "src/deep/ a.py b.py"),
        ("docker logs web", "GET /\nGET /\nGET /\nGET /", "GET / (×4)"),
        ("make", "anything at all " * 40, "anything at all " * 40),
        ("cat a.py", DIFF, DIFF),
    ],
)
def test_rtk_has_a_filter_for_each_command(command, text, shrunk):
    """What it does not know, and what failed, stays as it is."""
    done = filter_like_rtk(text, command)
    if shrunk is None:
        assert "TestB" in done
        assert "TestA" not in done
    else:
        assert done == shrunk


def test_rtk_knows_commands_behind_wrappers_and_in_scripts():
    """Of a pipeline what it prints at last; what stands in quotes is no command."""
    assert rtk_names("cd /p && FORCE=1 uv run pytest -q 2>&1 | tail -5") == ["pytest"]
    assert rtk_names("rg 'a|b && git diff' src") == ["rg"]
    assert rtk_names("git log | grep fix; make") == ["grep", ""]
    assert rtk_names('await tools.exec_command({"cmd": "git diff --stat", "yield_time_ms": 5})') == ["git diff"]


def test_what_codex_writes_before_an_output_stays():
    """Its lines are not those of the command."""
    header = "Chunk ID: 1\nWall time: 0.1 seconds\nOutput:\n"
    assert filter_like_rtk(f"{header}{LOG}", "git log").startswith(f"{header}0000000 Subject 0 <Ann>\n")


# --- Headroom

FOUND = "\n".join(f"src/package/a.py:{number}:found {number}" for number in range(20))


def test_headroom_folds_what_an_inverse_gives_back():
    """Matches under their file or their folder, paths under their folder."""
    assert fold_like_headroom(FOUND).split("\n")[:2] == ["src/package/a.py", "0:found 0"]
    one_each = "\n".join(f"src/package/{number}.py:1:found" for number in range(20))
    assert fold_like_headroom(one_each).split("\n")[:2] == ["src/package/", "0.py:1:found"]
    paths = "\n".join(f"src/package/{number}.py" for number in range(20))
    assert fold_like_headroom(paths).split("\n")[:2] == ["src/package/", "0.py"]
    log = "\n".join(f"2026-09-02 14:{number}:00 started" for number in range(10, 40))
    assert fold_like_headroom(log) == log


def test_headroom_shortens_json_logs_and_diffs():
    """Space in JSON, lines that come again, colours, and `index` lines go."""
    table = [{"name": "a", "size": number} for number in range(20)]
    folded = fold_like_headroom(json.dumps(table, indent=2))
    assert json.loads(folded) == table
    assert " " not in folded
    assert fold_like_headroom("waiting for the lock to be free\n" * 9) == (
        "waiting for the lock to be free\n... (repeated 9 times)\n"
    )
    assert "index 0123abc" not in fold_like_headroom(DIFF)


@given(st.lists(st.sampled_from(["a.py:1:x", "d/a.py:1:x", "d/a.py:2:y", "d/", "d/b", "a.py", "1:x", "b.py:1:z", "", "x"])))
def test_a_fold_is_only_taken_with_its_inverse(lines):
    """Whatever rows follow each other, what Headroom adopts can be unfolded."""
    folded = fold_like_headroom("\n".join(lines))
    forms = {"\n".join(heading.fold(lines)): heading for heading in HEADINGS}
    if folded in forms and folded != "\n".join(lines):
        assert forms[folded].unfold(folded.split("\n")) == lines


def test_lines_of_earlier_results_are_referred_to():
    """Three lines and 40 characters at least; lines that were left out are no source."""
    sent, block = SentLines(), "\n".join(f"a line of some length, {number}" for number in range(5))
    assert sent.add(block) == (block, [])
    text, used = sent.add(f"before\n{block}\nafter")
    assert text.split("\n") == ["before", "[↑5L same as result 0: 'a line of some le...']", "after"]
    assert used == [0]
    assert sent.add(block)[1] == [0]
    assert sent.add("\n".join(block.split("\n")[:2])) == ("\n".join(block.split("\n")[:2]), [])
    assert sent.add(block, refers=False) == (block, [])


@pytest.mark.parametrize("name", ["rtk", "headroom_coding"])
@given(text=st.text(alphabet='ab:1/.- \n\t+@{}[]"d', max_size=400), command=st.sampled_from(COMMANDS))
def test_filters_never_make_a_text_longer(name, text, command):
    """Whatever the text, and whatever the command."""
    assert len(PEER_FILTERS[name].shrink(text, command)) <= len(text)


# --- in the replay


def session(command, answer, says, *, tool="Bash", again=False):
    turns = [("user", (Text("go"),)), *step(0, tool, {"command": command}, answer)]
    turns += step(1, tool, {"command": f"{command} "}, answer) if again else []
    return recorded([*turns, ("assistant", (Text(says),)), ("user", (Text("and"),)), ("assistant", (Text("done"),))])


def run(name, history):
    replay = SessionReplay(history)
    return replay.with_strikes(BY_PEER[name](replay.sizes), RULE)


def test_a_result_is_smaller_from_the_beginning():
    """Nothing that was sent is rewritten, and no part is shrunk twice."""
    made = run("rtk", session("git diff", DIFF, "well"))
    assert [(one.index, one.first, one.is_fold) for one in made.strikes] == [(2, 1, True)]
    assert made.rewrites == 0
    assert made.tokens < SessionReplay(made.sizes.history).unstruck(RULE).tokens


def test_lines_that_were_dropped_are_gone():
    """A word that only they held is missed when it is used, by the strict measure; a word that stays is not."""
    rows = [f"src/a.py:{number}:word_{number}" for number in range(30)]
    gone = run("rtk", session("rg word", "\n".join(rows), "see word_29"))
    kept = run("rtk", session("rg word", "\n".join(rows), "see word_3"))
    assert (gone.risks["strict"].requests, kept.risks["strict"].requests) == (1, 0)
    assert gone.strikes[0].may_be_missed
    assert gone.strikes[0].used_words == "word_29"


def test_quoted_lines_that_were_dropped_are_gone():
    """By the measure `quoted` a line must be said again."""
    line = "line 2500 of what the program printed"
    text = NUMBERED[:15_000] + f"\n{line}\n" + NUMBERED[15_000:]
    assert run("codex_cut", session("make", text + NUMBERED, line)).risks["quoted"].requests == 0
    assert run("codex_cut_lines", session("make", text + NUMBERED, line)).risks["quoted"].requests == 1


def test_what_headroom_folds_can_be_read():
    """Neither an exact form nor a reference is missed; a reference says where its words are."""
    made = run("headroom_coding", session("rg found", FOUND, "src/package/a.py found 19", again=True))
    assert [one.may_be_missed for one in made.strikes] == [False, False]
    assert [[one.index for one in strike.refers] for strike in made.strikes] == [[], [2]]
    assert {name: risk.requests for name, risk in made.risks.items()} == {"quoted": 0, "strict": 0}


def test_headroom_leaves_reads_as_they_are():
    """The results of a tool that reads files, and of no command."""
    read = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a"}, FOUND), ("assistant", (Text("done"),))]
    sizes = SessionSizes(recorded(read))
    assert BY_PEER["headroom_coding"](sizes) == ()
    assert BY_PEER["codex_cut_lines"](sizes) == ()


def test_other_programs_are_compared_where_they_are_named():
    """By the names of their filters; without a name the comparison is among Redline's policies and the provider's."""
    history = session("git diff", DIFF, "well")
    found = compare(history, {"rule": RULE}, tuple(PEER_FILTERS)).outcomes["rule"]
    assert list(found) == ["none", *PEER_FILTERS]
    assert (found["rtk"].strikes, found["rtk"].folds, found["rtk"].partial_folds) == (0, 1, 1)
    assert found["rtk"].cost < found["none"].cost
    assert not set(POLICIES) & set(PEER_FILTERS)
