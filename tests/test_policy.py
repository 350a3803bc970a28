import tomllib
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline import EN, ZH, Conversation, Editor, Policy, Protection, ValidationError
from redline.policy.policy import find_policy
from redline.policy.presets import PRESETS
from redline.rules import HistoricalReads, MaskedResults, StaleTerminal
from redline.schedules import Budget, Eager, Rates, WhenFree
from redline.tools import DEFAULT


def test_defaults_are_the_documents_in_english():
    """Their two rules, in English; when depends on the model."""
    policy = Policy()
    assert [rule.name for rule in policy.made_rules()] == ["stale_terminal", "historical_reads"]
    assert (policy.strategy, policy.tool_book) == ("drop", DEFAULT)
    assert (policy.words, Policy.documents().words) == (EN, ZH)
    assert policy.made_schedule(None, None).name == "eager"
    assert policy.made_schedule(None, "gpt-5.6").name == "when_free"
    assert Policy.documents().made_schedule(None, "gpt-5.6").name == "eager"
    assert policy.made_schedule(Eager(), "gpt-5.6") == Eager()


def test_rules_are_made_for_the_project_and_in_the_words():
    """By name and as objects; one request may have others."""
    policy = Policy(rules=["historical_reads", MaskedResults(keep_recent=1)], words=EN, project_root="/p")
    reads, masked = policy.made_rules()
    assert (reads.project_root, reads.words, masked.words) == ("/p", EN, EN)
    assert policy.made_rules([HistoricalReads(project_root="/q")])[0].project_root == "/q"


def test_policies_compare_and_print():
    """A value like any other."""
    assert Policy(rules=["stale_terminal"]) == Policy(rules=("stale_terminal",)) != Policy()
    assert (repr(Policy()), repr(Policy(strategy="answer"))) == ("Policy()", "Policy(strategy='answer')")


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"rules": "stale_terminal"}, "rules"),
        ({"rules": ["nope"]}, "nope"),
        ({"schedule": "nope"}, "nope"),
        ({"strategy": "nope"}, "strategy"),
        ({"words": "klingon"}, "words"),
        ({"protection": {"tools": []}}, "protection"),
        ({"tool_book": {}}, "tool_book"),
        ({"project_root": b"/p"}, "project_root"),
    ],
)
def test_a_wrong_setting_is_refused_and_named(wrong, what):
    """Where the policy is made, not at the first request (R35)."""
    with pytest.raises(ValidationError, match=what):
        Policy(**wrong)


def test_protection_is_part_of_it():
    """And checked by its type."""
    assert Policy(protection=Protection(tools=frozenset({"x"}))).protection.tools == {"x"}


# --- in a file

FILE = """
rules = ["stale_terminal", { name = "historical_reads", keep_recent = 3 }]
schedule = { name = "budget", trigger_tokens = 80_000 }
words = "en"
strategy = "answer"
project_root = "."

[protection]
tools = ["Task"]
paths = ["*.md"]

[tools.my_read]
reads = "path"
"""


def test_a_policy_is_read_from_a_file(tmp_path):
    """Every setting; a relative root starts from the file's folder."""
    path = tmp_path / "redline.toml"
    path.write_text(FILE)
    policy = Policy.load(path)
    assert policy == Policy(
        rules=["stale_terminal", HistoricalReads(keep_recent=3)],
        schedule=Budget(trigger_tokens=80_000),
        words=EN,
        strategy="answer",
        project_root=str(tmp_path),
        protection=Protection(tools=frozenset({"Task"}), paths=("*.md",)),
        tool_book=DEFAULT.with_tool("my_read", reads="path"),
    )
    (tmp_path / "pyproject.toml").write_text('[tool.redline]\nstrategy = "strip"\n')
    assert Policy.load(tmp_path / "pyproject.toml") == Policy(strategy="strip")


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
plain_texts = texts.filter(lambda text: not {"{", "}"}.intersection(text))
"""Words are templates: a brace in them begins a field."""
rules = st.lists(
    st.sampled_from(["stale_terminal", "masked_results"])
    | st.builds(
        StaleTerminal, max_age_ms=st.floats(0, 1e9), tools=st.none() | st.frozensets(texts, max_size=2), placeholder=texts
    )
    | st.builds(HistoricalReads, keep_recent=st.integers(0, 9), shell_reads=st.booleans()),
    max_size=3,
)
schedules = (
    st.sampled_from([None, "eager", "when_free"])
    | st.builds(Budget, keep=st.integers(0, 9))
    | st.builds(WhenFree, rates=st.builds(Rates, read=st.floats(0, 1)), lifetime_ms=st.floats(0, 1e7))
)
policies = st.builds(
    Policy,
    rules=rules,
    schedule=schedules,
    words=st.sampled_from([ZH, EN]) | plain_texts.map(lambda text: replace(EN, stale_terminal=text)),
    strategy=st.sampled_from(["drop", "answer", "strip"]),
    protection=st.builds(Protection, tools=st.frozensets(texts, max_size=2), paths=st.lists(texts, max_size=2).map(tuple)),
    tool_book=st.just(DEFAULT) | texts.map(lambda name: DEFAULT.with_tool(name, reads="path", runs="cmd")),
)


@given(policies)
def test_a_written_policy_reads_back_equal(policy):
    """Whatever the names, texts and numbers in it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "redline.toml")
        path.write_text(policy.toml(), encoding="utf-8")
        assert Policy.load(path) == policy


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("rules = 3", "rules"),
        ('rules = ["nope"]', "nope"),
        ('rules = [{ name = "nope" }]', "nope"),
        ('rules = [{ name = "stale_terminal", age = 1 }]', "has no setting 'age'"),
        ('rules = [{ name = "stale_terminal", keep_recent = -1 }]', "keep_recent"),
        ('schedule = "nope"', "nope"),
        ("schedule = 3", "schedule: must be a table"),
        ('schedule = { name = "when_free", rates = { read = -1 } }', "read"),
        ('words = "fr"', "no language 'fr'"),
        ('words = { nope = "x" }', "has no setting 'nope'"),
        ('strategy = "nope"', "strategy"),
        ("project_root = 3", "project_root"),
        ('protection = { tools = "Task" }', "list of names"),
        ('protection = { paths = "*.md" }', "list of globs"),
        ("tools = { x = 3 }", "must be a table"),
        ('tools = { x = { eats = "y" } }', "has no setting 'eats'"),
        ("rules = [3]", "must be a table"),
        ('rules = [{ name = ["stale_terminal"] }]', "there is no"),
        ('words = { language = ["en"] }', "no language"),
        ('project_root = "a\\u0000b"', "no file can have"),
        ("colour = 1", "no setting 'colour'"),
        ("rules = [", "not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, what):
    """With the file and the setting."""
    path = tmp_path / "redline.toml"
    path.write_text(text)
    with pytest.raises(ValidationError, match=what) as raised:
        Policy.load(path)
    assert str(path) in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    """And a pyproject.toml that says nothing of Redline."""
    with pytest.raises(ValidationError, match=r"nowhere\.toml.*No such file"):
        Policy.load(tmp_path / "nowhere.toml")
    (tmp_path / "pyproject.toml").write_text("")
    with pytest.raises(ValidationError, match=r"no table \[tool\.redline\]"):
        Policy.load(tmp_path / "pyproject.toml")


@pytest.mark.parametrize("wrong", [3, None, b"x", "a\0b", object()], ids=["number", "None", "bytes", "zero byte", "object"])
def test_what_is_no_path_is_refused(wrong):
    """With an error of Redline's own."""
    with pytest.raises(ValidationError):
        Policy.load(wrong)


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nredline = 3"])
def test_a_pyproject_in_which_redline_is_no_table_is_refused(tmp_path, text):
    """As one that says nothing of Redline."""
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ValidationError, match="no table"):
        Policy.load(tmp_path / "pyproject.toml")


@pytest.mark.parametrize("wrong", [{"paths": one} for one in (3, None, {"a": 1}, [3])] + [{"tools": "x"}, {"errors": 1}])
def test_a_wrong_protection_is_refused(wrong):
    """When it is made."""
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Protection(**wrong)


def test_what_only_python_can_name_is_not_written():
    """A rule or a schedule of one's own."""
    for own in ({"rules": [OwnRule()]}, {"schedule": OwnSchedule()}):
        with pytest.raises(ValidationError, match="is your own"):
            Policy(**own).toml()


class OwnRule:
    name = "own"

    def fold(self):
        raise NotImplementedError


class OwnSchedule:
    name = "own"
    needs_ledger = False

    def decide(self, case):
        raise NotImplementedError


@pytest.mark.parametrize("name", ["folded", "careful", "balanced", "bold"])
def test_presets_are_policies_with_names(name):
    """By a method, by name, wherever a policy is taken; in English, when free; settings can be added."""
    policy = getattr(Policy, name)()
    assert policy == Policy.named(name) == Conversation(policy=name).policy == Editor(policy=name).policy
    assert (policy.words, policy.schedule) == (EN, "when_free")
    rules = ["folded"] if name == "folded" else ["folded", "faded", "old_reasoning"]
    assert [rule.name for rule in policy.made_rules()] == rules
    own = getattr(Policy, name)(strategy="answer", words=ZH, recall_tool="back")
    assert (own.strategy, own.words) == ("answer", ZH)
    assert {rule.recall_tool for rule in own.made_rules() if rule.name != "old_reasoning"} == {"back"}
    assert Policy.of_table(tomllib.loads(policy.toml())) == policy


@pytest.mark.parametrize("wrong", ["daring", "", 3])
def test_a_name_that_is_none_is_refused(wrong):
    """It says which there are."""
    with pytest.raises(ValidationError, match="folded, careful, balanced, bold, stale, superseded, documents, masking"):
        Policy.named(wrong)


def test_a_file_names_a_preset(tmp_path):
    """And changes what it likes."""
    file = tmp_path / "redline.toml"
    file.write_text('preset = "bold"\nstrategy = "answer"\nschedule = "eager"\n[protection]\ntools = ["Read"]\n')
    assert Policy.load(file) == Policy.bold(strategy="answer", schedule="eager", protection=Protection(tools={"Read"}))
    file.write_text('preset = "daring"\n')
    with pytest.raises(ValidationError, match=r"redline\.toml: There is no policy named 'daring'"):
        Policy.load(file)


# --- interrupted calls


def _sent_and_killed() -> list[dict[str, object]]:
    """Two calls at once: the mail was sent, the deployment was killed before it answered."""
    calls = [
        {"type": "tool_use", "id": "t1", "name": "send_email", "input": {"to": "me"}},
        {"type": "tool_use", "id": "t2", "name": "deploy", "input": {}},
    ]
    sent = {"type": "tool_result", "tool_use_id": "t1", "content": "the mail was sent"}
    return [
        {"role": "user", "content": "mail me and deploy"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": [sent]},
        {"role": "user", "content": "go on"},
    ]


def _is_told(messages: object) -> bool:
    """Whether the model sees that the mail was sent, and that the deployment was interrupted."""
    said = str(messages)
    return "the mail was sent" in said and "side effects" in said


@pytest.mark.parametrize("name", ["careful", "balanced", "bold"])
def test_presets_answer_interrupted_calls(name):
    """R154: what ran is not hidden, or the model would do it again."""
    chat = redline.Conversation(_sent_and_killed(), policy=name, format="anthropic")
    assert _is_told(chat.request().messages)
    assert getattr(redline.Policy, name)(strategy="drop").strategy == "drop"


@pytest.mark.parametrize("policy", [redline.Policy(), redline.Policy.documents(), "documents", None])
def test_the_documents_drop_interrupted_calls(policy):
    """R154: by default, and where the documents are named, the message goes whole as they say."""
    chat = redline.Conversation(_sent_and_killed(), policy=policy, format="anthropic")
    assert "send_email" not in str(chat.request().messages)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "documents"])
def test_surfaces_answer_interrupted_calls(preset):
    """R154: the presets that proxy, run and inspector take by name."""
    assert find_policy(preset).strategy == "answer"
    assert _is_told(redline.Editor(policy=find_policy(preset)).edit(_sent_and_killed(), session="a").messages)


def test_an_editor_answers_interrupted_calls():
    """R154: also where no policy is named, and in English."""
    sent = redline.Editor().edit(_sent_and_killed(), session="a").messages
    assert _is_told(sent)
    assert "Interrupted before it finished" in str(sent)
    assert "send_email" not in str(redline.Editor(policy=redline.Policy()).edit(_sent_and_killed(), session="a").messages)


def test_a_file_of_a_surface_answers_unless_it_says_otherwise(tmp_path):
    """R154: a policy file that does not name a strategy; `Policy.load` by itself keeps the documents' default."""
    file = tmp_path / "redline.toml"
    file.write_text('rules = ["masked_results"]\n')
    assert (find_policy(str(file)).strategy, redline.Policy.load(file).strategy) == ("answer", "drop")
    file.write_text('rules = ["masked_results"]\nstrategy = "strip"\n')
    assert find_policy(str(file)).strategy == "strip"
