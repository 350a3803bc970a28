"""Results are made smaller before they are first sent, and lines in sight are referred to."""

import pytest

import redline
from redline import EN, Conversation, Policy, ValidationError
from redline.rules import Folded, HistoricalReads, OffloadResults, SupersededReads
from redline.testing import asks, conversation, says
from redline.tools.known import KNOWN
from tests.partial_fold import PROGRESS, use_partial_fold
from tests.rules.folding import marked, steps

BLOCK = "\n".join(f"line {number} of a block that is long enough to be referred to" for number in range(9))
REPEATED = "\n".join(["starting", *["waiting for the server to answer on its port"] * 40, "done"])


def sent(*results: str, policy: Policy | None = None, tool: str = "Bash", key: str = "command") -> list[str]:
    """The texts of results as a first request sends them."""
    talk = Conversation(policy=policy or Policy(rules=[Folded()], words=EN), model="claude-opus-4-6")
    turns = [
        turn for number, text in enumerate(results) for turn in asks(tool, {key: f"run {number}"}, text, id=f"call_{number}")
    ]
    for message in conversation("anthropic", [says("user", "Begin."), *turns]):
        talk.add(message)
    return [
        block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
        for message in talk.request().messages
        for block in (message["content"] if isinstance(message["content"], list) else [])
        if block["type"] == "tool_result"
    ]


def test_a_result_is_folded_before_it_is_first_sent():
    """A line forty times in a row is sent once, in the first request."""
    assert sent(REPEATED) == ["starting\nwaiting for the server to answer on its port\n[the line above 39 more times]\ndone"]


def test_lines_in_sight_are_referred_to():
    """A block that an earlier result has is left out, with the way to it."""
    assert sent(BLOCK, f"first\n{BLOCK}\nlast")[1] == "first\n[lines 2–10: as in the output of `Bash run 0` above]\nlast"


@pytest.mark.parametrize("text", [f"Traceback (most recent call last):\n{REPEATED}\nValueError: no"])
def test_a_result_that_reports_a_failure_stays(text):
    """Word for word."""
    assert sent(text) == [text]


def test_reads_are_not_folded():
    """The agent types its edits from the lines that it was shown."""
    assert sent(REPEATED, tool="Read", key="file_path") == [REPEATED]


def test_what_was_sent_stays_as_it_was_sent():
    """A policy that folds changes nothing that an earlier request has sent whole."""
    talk = Conversation(policy=Policy(rules=[], words=EN), model="claude-opus-4-6")
    for message in conversation("anthropic", [says("user", "Begin."), *asks("Bash", {"command": "run"}, REPEATED, id="a")]):
        talk.add(message)
    before = talk.request().body
    assert talk.request(rules=[Folded()]).body == before


def test_a_fold_can_be_undone():
    """Then the text is sent as it was said."""
    talk = Conversation(policy=Policy(rules=[Folded()], words=EN), model="claude-opus-4-6")
    for message in conversation("anthropic", [says("user", "Begin."), *asks("Bash", {"command": "run"}, REPEATED, id="a")]):
        talk.add(message)
    (strike,) = talk.request().new_strikes
    assert strike.is_fold
    talk.undo(strike)
    assert talk.request().strikes == ()
    assert b"[the line above" not in talk.request().body


def test_folds_are_spared_by_name():
    """Settings switch each fold off, and references."""
    policy = Policy(rules=[Folded(spared_folds=["repeated_lines"], references=False)], words=EN)
    assert sent(REPEATED, BLOCK, BLOCK, policy=policy) == [REPEATED, BLOCK, BLOCK]


def test_an_unknown_fold_is_refused():
    """With the names that are known."""
    with pytest.raises(ValidationError, match="repeated_lines"):
        Folded(spared_folds=["nothing"])


def test_the_policy_has_a_name():
    """`folded` wherever a policy is taken."""
    assert [rule.name for rule in redline.Conversation(policy="folded").policy.made_rules()] == ["folded"]


def test_a_text_that_quotes_a_reference_stays():
    """Nobody could tell its quoted notice from one that leads to words; nor does another result refer to the quote."""
    quoting = f"[lines 1–9: as in the output of `make` above]\n{BLOCK}"
    assert sent(BLOCK, quoting, f"{quoting}\nlast") == [BLOCK, quoting, f"{quoting}\nlast"]


# --- lines that are left out


@pytest.fixture
def partial_fold(monkeypatch):
    use_partial_fold(monkeypatch)


def folded_in(folder: object, *results: str, **how: str) -> list[str]:
    """The texts of results as a request sends them where whole results go to a folder."""
    return sent(*results, policy=Policy(rules=[Folded(whole_in=folder)], words=EN), **how)  # type: ignore[arg-type]


@pytest.mark.usefixtures("partial_fold")
def test_no_line_is_left_out_where_the_whole_is_nowhere():
    """By default."""
    assert sent(PROGRESS) == [PROGRESS]


@pytest.mark.usefixtures("partial_fold")
def test_a_folder_for_whole_results_is_all_it_takes(tmp_path):
    """It is made, and so is the file that the notice names; blobs need not be given."""
    (text,) = folded_in(tmp_path / "new" / "whole", PROGRESS)
    (file,) = (tmp_path / "new" / "whole").iterdir()
    assert f"all of it: {file}]" in text
    assert file.read_text() == PROGRESS


@pytest.mark.usefixtures("partial_fold")
def test_a_relative_folder_is_named_in_full(tmp_path, monkeypatch):
    """The agent may work in another folder."""
    monkeypatch.chdir(tmp_path)
    assert f"all of it: {tmp_path}/whole/" in folded_in("whole", PROGRESS)[0]


@pytest.mark.usefixtures("partial_fold")
def test_files_and_blobs_are_kept_apart(tmp_path):
    """What is offloaded goes to the blobs, whole results to their folder."""
    rules = [Folded(whole_in=tmp_path / "whole"), OffloadResults(min_chars=9000)]
    talk = Conversation(policy=Policy(rules=rules, words=EN), model="claude-opus-4-6", blobs=tmp_path / "blobs")
    turns = [*asks("Bash", {"command": "a"}, PROGRESS, id="a"), *asks("Bash", {"command": "b"}, "x " * 9000, id="b")]
    for message in conversation("anthropic", [says("user", "Begin."), *turns]):
        talk.add(message)
    talk.request()
    assert [len(list((tmp_path / name).iterdir())) for name in ("whole", "blobs")] == [1, 1]


@pytest.mark.usefixtures("partial_fold")
def test_a_preview_writes_no_file(tmp_path):
    """Nothing is sent."""
    talk = Conversation(policy=Policy(rules=[Folded(whole_in=tmp_path / "whole")], words=EN), model="claude-opus-4-6")
    for message in conversation("anthropic", [says("user", "Begin."), *asks("Bash", {"command": "a"}, PROGRESS, id="a")]):
        talk.add(message)
    assert b"left out" in talk.preview().body
    assert not (tmp_path / "whole").exists()


@pytest.mark.usefixtures("partial_fold")
def test_only_who_runs_commands_is_sent_to_a_file(tmp_path):
    """Of an agent without a shell nobody knows whether it can read files."""
    assert folded_in(tmp_path / "whole", PROGRESS, tool="ask_database", key="query") == [PROGRESS]


@pytest.mark.usefixtures("partial_fold")
def test_a_recall_tool_goes_before_a_folder(tmp_path):
    """The notice names the call, and no file is written."""
    policy = Policy(rules=[Folded(recall_tool="recall", whole_in=tmp_path / "whole")], words=EN)
    assert 'all of it: recall(reference="#2.0")]' in sent(PROGRESS, policy=policy)[0]
    assert not (tmp_path / "whole").exists()


@pytest.mark.usefixtures("partial_fold")
@pytest.mark.parametrize("name", ["careful", "balanced", "bold"])
def test_presets_name_the_recall_tool_for_what_is_left_out(name):
    """As for what is struck; the conversation reads it back."""
    talk = Conversation(policy=getattr(Policy, name)(recall_tool="recall"), model="claude-opus-4-6")
    for message in conversation("anthropic", [says("user", "Begin."), *asks("Bash", {"command": "a"}, PROGRESS, id="a")]):
        talk.add(message)
    (strike,) = talk.request().new_strikes
    reference = str(strike.replacement).partition('reference="')[2].partition('"')[0]
    assert talk.recall(reference) == PROGRESS


FOLDER = "/home/dev/.redline/whole"
FILE = f"{FOLDER}/0123456789abcdef.txt"
COMMANDS = (
    f"cat {FILE}",
    "sed -n 1,20p ~/.redline/whole/0123456789abcdef.txt",
    f"grep -rn FAILED {FOLDER}",
    "cat ../.redline/whole/*",
)


def reads_of_whole_results():
    """A call for each shape of tool that reads a file or runs a command, of all agents that are known."""
    for agent, tools in enumerate(KNOWN):
        for full_name, tool in tools.items():
            name, _, command = full_name.partition(" ")
            more = {"command": command} if command else {}
            for key in tool.reads.split():
                yield pytest.param(
                    name, {**more, key: [FILE] if key in ("paths", "files") else FILE}, id=f"{agent} {name} {key}"
                )
            for key in tool.runs.split():
                yield pytest.param(name, {key: COMMANDS[0]}, id=f"{agent} {name} {key}")
                yield pytest.param(name, {key: ["bash", "-lc", COMMANDS[0]]}, id=f"{agent} {name} {key} as a list")
            for key in tool.runs_each.split():
                yield pytest.param(name, {key: ["ls", COMMANDS[0]]}, id=f"{agent} {name} {key}")
            for key in (tool.evaluates or tool.scripts).split():
                code = f'tools.exec_command({{cmd: "{COMMANDS[0]}"}})'
                yield pytest.param(name, {key: code}, id=f"{agent} {name} {key}")


@pytest.mark.usefixtures("partial_fold")
@pytest.mark.parametrize(("tool", "arguments"), list(reads_of_whole_results()))
def test_a_whole_result_that_is_read_back_stays(tool, arguments):
    """With whatever tool; else the model would never get to read it."""
    policy = Policy(rules=[Folded(whole_in=FOLDER)], words=EN)
    for text in (PROGRESS, REPEATED):
        talk = Conversation(policy=policy, model="claude-opus-4-6")
        for message in conversation("anthropic", [says("user", "Begin."), *asks(tool, arguments, text, id="a")]):
            talk.add(message)
        assert talk.preview().strikes == ()


@pytest.mark.usefixtures("partial_fold")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_whole_results_in_many_ways(command):
    """By the path, from the home folder, all at once."""
    policy = Policy(rules=[Folded(whole_in=FOLDER)], words=EN)
    talk = Conversation(policy=policy, model="claude-opus-4-6")
    for message in conversation("anthropic", [says("user", "Begin."), *asks("Bash", {"command": command}, PROGRESS, id="a")]):
        talk.add(message)
    assert talk.preview().strikes == ()


@pytest.mark.parametrize("rule", [HistoricalReads(keep_recent=1, shell_reads=True), SupersededReads(until_read_again=False)])
@pytest.mark.parametrize(("tool", "key", "said"), [("Read", "file_path", "{}"), ("Bash", "command", "cat {}")])
def test_pieces_of_a_whole_result_supersede_nothing(rule, tool, key, said):
    """It is read piece by piece, and never changes."""
    asked = [(tool, {key: said.format(FILE)}, f"piece {number} of it\n" * 40) for number in range(3)]
    assert marked(rule, steps(*asked)) == []
    asked = [(tool, {key: said.format("/p/a.py")}, f"piece {number} of it\n" * 40) for number in range(3)]
    assert (marked(rule, steps(*asked)) == []) is isinstance(rule, SupersededReads)


@pytest.mark.parametrize("folder", ["s3://bucket/whole", "a\0b", 7, "x" * 300, "~nobody-at-all/whole"])
def test_what_can_be_no_folder_is_refused(folder):
    """When the rule is made."""
    with pytest.raises(ValidationError, match="folded: whole_in"):
        Folded(whole_in=folder)


@pytest.mark.usefixtures("partial_fold")
def test_an_editor_takes_the_folder_for_its_policy(tmp_path):
    """The policy stays as it was given, and what it says itself goes first."""
    given = conversation("anthropic", [says("user", "Begin."), *asks("Bash", {"command": "run"}, PROGRESS, id="a")])
    for rule, folder in ((Folded(), "here"), (Folded(whole_in=tmp_path / "theirs"), "theirs")):
        policy = Policy(rules=[rule], words=EN)
        with redline.Editor(policy=policy, whole_in=tmp_path / "here") as editor:
            (strike,) = editor.edit(given, model="claude-opus-4-6").new_strikes
        assert editor.policy == policy
        assert f"all of it: {tmp_path / folder}/" in str(strike.replacement)


@pytest.mark.usefixtures("partial_fold")
def test_lines_that_are_left_out_are_given_back(tmp_path):
    """A fold that is undone gives the whole result, with or without its file."""
    talk = Conversation(policy=Policy(rules=[Folded(whole_in=tmp_path / "whole")], words=EN), model="claude-opus-4-6")
    for message in conversation("anthropic", [says("user", "Begin."), *asks("Bash", {"command": "run"}, PROGRESS, id="a")]):
        talk.add(message)
    (strike,) = talk.request().new_strikes
    next((tmp_path / "whole").iterdir()).unlink()
    talk.undo(strike)
    assert talk.request().strikes == ()
