import pytest

from redline.cli.loaded_session import for_each_session
from redline.errors import TranscriptError
from redline.sessions.catalog.session_files import SessionInput

SESSIONS = [SessionInput(name, f"/place/{name}") for name in ("a", "b", "c")]


def raising(problem):
    def work(session):
        if session.name == "b":
            raise problem
        return 0

    return work


@pytest.mark.parametrize(
    "problem",
    [TranscriptError("/place/b is torn"), OSError(5, "Input/output error"), RecursionError("too deep"), ValueError("/place/b")],
)
def test_what_fails_is_named_and_the_others_are_done(problem, capsys):
    """In one line, by the name that the user knows; the exit code is 2 (R40)."""
    done = []
    work = raising(problem)
    assert for_each_session(SESSIONS, lambda session: work(session) or done.append(session.name) or 0) == 2
    told = capsys.readouterr().err
    assert (done, told.count("\n"), told.startswith("redline: b "), "/place" in told) == (["a", "c"], 1, True, False)


def test_the_highest_exit_code_counts(capsys):
    """Problems in one session are not hidden by a legal one after it."""
    codes = {"a": 0, "b": 1, "c": 0}
    assert for_each_session(SESSIONS, lambda session: codes[session.name]) == 1


def test_other_files_of_a_folder_are_left_out(capsys):
    """A package.json is no session; that it was left out is said once."""

    def work(session):
        raise TranscriptError(f"{session.place} is not a session file")

    found = [SessionInput(name, name, is_found=True) for name in ("package.json", "tsconfig.json")]
    assert for_each_session(found, work) == 0
    assert capsys.readouterr().err.startswith("redline: 2 .json files")
    named = [SessionInput("package.json", "package.json")]
    assert for_each_session(named, work) == 2


def test_a_closed_pipe_ends_the_command():
    """Nobody reads on."""
    with pytest.raises(BrokenPipeError):
        for_each_session(SESSIONS, raising(BrokenPipeError()))
