import base64
import json
import re
import stat
from collections import Counter
from html.parser import HTMLParser

import pytest

from redline import FORMATS, Conversation, check, read_transcript
from redline.record.opening import open_log
from redline.testing import asks, conversation, says
from tests.cli.chat import KEY, PICTURE, write_chat, write_hostile
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.cli.test_terminal import tricks_in
from tests.corpus import CORPUS, corpus_rows, needs_corpus

HISTORY = conversation(
    "anthropic",
    [
        says("user", "fix it, 请"),
        *asks("bash", {"command": f"export K={KEY}", "api_key": "hunter2"}, f"K={KEY}"),
        says("assistant", "done"),
    ],
)


def write_log(address, messages=HISTORY):
    log = open_log(address)
    talk = Conversation(messages, log=log)
    log.close()
    return talk


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_log_is_exported_as_it_was_said(tmp_path, kind):
    """The visible messages, as a list that can be read again."""
    address = tmp_path / "chat.jsonl" if kind == "jsonl" else f"sqlite:///{tmp_path / 'chats.db'}#chat"
    write_log(address)
    done = redline("export", address)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == HISTORY
    assert "请" in done.stdout


def test_what_is_not_visible_is_not_exported(tmp_path):
    """A view that was cut stays cut."""
    log = open_log(tmp_path / "chat.jsonl")
    talk = Conversation(HISTORY, log=log)
    talk.process({"operation": "truncate", "truncate": {"keep_last": 1}})
    log.close()
    exported = json.loads(redline("export", tmp_path / "chat.jsonl").stdout)
    assert exported[-1:] == HISTORY[-1:]
    assert not [message for message in exported if message in HISTORY[:-1]]


def test_a_session_file_is_exported_without_interrupted_calls(tmp_path):
    """As messages that its provider takes; the file is not touched."""
    file = write_session(tmp_path / "s.jsonl", is_open=True)
    before = file.read_bytes()
    messages = json.loads(redline("export", file).stdout)
    assert check(messages, format="anthropic") == []
    assert len(messages) == 7
    assert file.read_bytes() == before


@pytest.mark.parametrize("target", FORMATS)
def test_another_format_is_written(tmp_path, target):
    """What is exported is a session file that Redline reads."""
    write_log(tmp_path / "chat.jsonl")
    done = redline("export", tmp_path / "chat.jsonl", "--to", target, "--write", tmp_path / "out.json")
    assert (done.returncode, done.stdout) == (0, "")
    (recorded,) = read_transcript(tmp_path / "out.json")
    assert recorded.format == target
    assert check([message.native for message in recorded.messages], format=target) == []


@pytest.mark.parametrize("target", [None, *FORMATS])
def test_secrets_are_replaced_if_asked(tmp_path, target):
    """In every format, with the shape kept; without the option they stay."""
    write_log(tmp_path / "chat.jsonl")
    options = ["--to", target] if target else []
    plain, redacted = (redline("export", tmp_path / "chat.jsonl", *options, *more).stdout for more in ([], ["--redact"]))
    assert KEY in plain
    assert "hunter2" in plain
    assert KEY not in redacted
    assert "hunter2" not in redacted
    assert "[redacted Anthropic key]" in redacted
    assert shape(json.loads(redacted)) == shape(json.loads(plain))


def test_a_system_prompt_is_exported_beside_the_messages(tmp_path):
    """Where the format holds it apart; secrets in it are replaced too."""
    body = {"system": f"Use {KEY}.", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}
    (tmp_path / "body.json").write_text(json.dumps(body))
    assert json.loads(redline("export", tmp_path / "body.json", "--to", "anthropic").stdout) == body
    chat = json.loads(redline("export", tmp_path / "body.json", "--to", "openai_chat", "--redact").stdout)
    assert chat[0] == {"role": "system", "content": "Use [redacted Anthropic key]."}


def test_a_file_is_made_for_its_owner_only(tmp_path):
    """What is there is never written over, the log itself above all."""
    write_log(tmp_path / "chat.jsonl")
    before = (tmp_path / "chat.jsonl").read_bytes()
    out = tmp_path / "out.json"
    redline("export", tmp_path / "chat.jsonl", "--write", out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert json.loads(out.read_bytes()) == HISTORY
    for taken in (out, tmp_path / "chat.jsonl"):
        done = redline("export", tmp_path / "chat.jsonl", "--write", taken)
        assert (done.returncode, "left as it is" in done.stderr) == (2, True)
    assert (tmp_path / "chat.jsonl").read_bytes() == before


@pytest.mark.parametrize("address", ["missing.jsonl", "sqlite:///missing.db#chat", "ftp://x"])
def test_what_is_not_there_is_an_error(tmp_path, address, monkeypatch):
    """In one line, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    done = redline("export", address)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_several_are_exported_into_lines(tmp_path):
    """One a line, which is a file that redline reads again (R39)."""
    for name in ("a", "b"):
        write_log(f"sqlite:///{tmp_path}/chats.db#{name}")
    done = redline("export", tmp_path / "chats.db", "--write", tmp_path / "out.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert [[message.native for message in one.messages] for one in read_transcript(tmp_path / "out.jsonl")] == [HISTORY] * 2


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """It says where."""
    write_log(tmp_path / "chat.jsonl")
    done = redline("export", tmp_path / "chat.jsonl", "--write", tmp_path / "no" / "out.json")
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_text_that_is_no_unicode_is_escaped(tmp_path):
    """It comes back as it was."""
    odd = [{"role": "user", "content": "\ud83d 请"}]
    write_log(tmp_path / "chat.jsonl", odd)
    assert json.loads(redline("export", tmp_path / "chat.jsonl").stdout) == odd


def shape(value):
    match value:
        case dict():
            return {name: shape(one) for name, one in value.items()}
        case list():
            return [shape(one) for one in value]
    return type(value).__name__


# --- for people


TAGS = set(
    "html head meta title style body h1 h2 dl dt dd main article pre p strong details summary del ins img".split()  # noqa: SIM905
)


class Reader(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = Counter(), [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def test_html_is_one_file_in_which_nothing_runs_or_loads(tmp_path):
    """Whatever was said is text; a picture is in it, a drawing that could hold a script is not."""
    page = redline("export", write_hostile(tmp_path / "chat.jsonl"), "--to", "html").stdout
    read = Reader(page)
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    assert set(read.tags) <= TAGS
    sources = [value for _, name, value in read.attributes if name in ("src", "href")]
    assert sources == ["data:image/png;base64," + base64.b64encode(PICTURE).decode()]
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name == "style"]
    assert "</del><script>alert(1)</script>" in read.text
    assert "\\x1b[31mred" in read.text
    assert tricks_in(page) == []
    assert "[image/svg+xml]" in read.text
    assert read.tags["del"] == 3
    assert "struck by stale_terminal: command output older" in read.text


def test_markdown_keeps_what_was_said_inside(tmp_path):
    """Fences are longer than any run of backticks in them; no tag but our own, no picture, no heading above ours."""
    text = redline("export", write_hostile(tmp_path / "chat.jsonl"), "--to", "markdown").stdout
    outside = list(outside_of_fences(text))
    tags = {tag for line in outside for tag in re.findall(r"<[^>]*>", line)}
    assert tags <= {"<details>", "<summary>", "</summary>", "</details>", "<del>", "</del>", "<code>", "</code>"}
    assert not [line for line in outside if "![" in line]
    assert len([line for line in outside if re.match(r"#{1,4} ", line)]) == 1 + 21
    assert "struck by stale\\_terminal" in text
    assert tricks_in(text) == []


def outside_of_fences(text):
    """The lines that GitHub does not take for code."""
    fence = ""
    for line in text.splitlines():
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence:
            fence = "" if found and found[1].startswith(fence) and not found[2].strip() else fence
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        else:
            yield line
    assert not fence


def test_json_has_everything_that_show_has(tmp_path):
    """The session, its requests, its strikes, its messages."""
    address = write_chat(tmp_path / "chat.jsonl")
    found = json.loads(redline("export", address, "--to", "json").stdout)
    assert list(found) == ["session", "requests", "strikes", "messages"]
    assert (len(found["requests"]), len(found["strikes"]), len(found["messages"])) == (13, 7, 25)
    lines = [json.loads(line) for line in redline("show", address, "--json", "--full").stdout.splitlines()]
    for message, line in zip(found["messages"], lines, strict=True):
        assert {**message, "parts": [{**part, "notes": None} for part in message["parts"]]} == {
            **line,
            "parts": [{**part, "notes": None} for part in line["parts"]],
        }
    one = json.loads(redline("export", address, "--to", "json", "--request", 8).stdout)
    assert (len(one["messages"]), one["session"]["request"], len(one["requests"])) == (17, 8, 1)
    beyond = redline("export", address, "--to", "json", "--request", 13)
    assert (beyond.returncode, "There is no request 13; there are 13, numbered from 0." in beyond.stderr) == (2, True)


@pytest.mark.parametrize("target", ["markdown", "html", "json"])
def test_secrets_are_replaced_in_what_people_read(tmp_path, target):
    """In results and in arguments; the picture stays."""
    address = write_hostile(tmp_path / "chat.jsonl")
    assert KEY in redline("export", address, "--to", target).stdout
    out = tmp_path / "out"
    done = redline("export", address, "--to", target, "--redact", "--write", out)
    assert (done.returncode, done.stdout, stat.S_IMODE(out.stat().st_mode)) == (0, "", 0o600)
    text = out.read_text(encoding="utf-8")
    assert KEY not in text
    assert "redacted Anthropic key" in text
    if target != "markdown":
        assert base64.b64encode(PICTURE).decode() in text


@pytest.mark.parametrize("target", ["markdown", "html", "json"])
def test_secrets_by_their_names_are_replaced_in_arguments(tmp_path, target):
    """As in the messages that a provider gets."""
    write_log(tmp_path / "chat.jsonl")
    assert "hunter2" not in redline("export", tmp_path / "chat.jsonl", "--to", target, "--redact").stdout


def test_options_of_pages_are_for_pages(tmp_path):
    """And a page is of one session."""
    for name in ("a", "b"):
        write_log(tmp_path / f"{name}.jsonl")
    assert redline("export", tmp_path / "a.jsonl", "--request", 0).returncode == 2
    assert redline("export", tmp_path / "a.jsonl", "--policy", "default", "--to", "anthropic").returncode == 2
    done = redline("export", tmp_path, "--to", "html")
    assert (done.returncode, done.stdout, "2 sessions are named" in done.stderr) == (2, "", True)


@needs_corpus
@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "gemini-cli"])
def test_recorded_sessions_are_pages(agent):
    """Every message has its heading; no tag comes from what was said."""
    path = max((CORPUS / row["path"] for row in corpus_rows(agent)), key=lambda one: one.stat().st_size)
    count = sum(1 for _ in redline("show", path, "--json", timeout=300).stdout.splitlines())
    page = redline("export", path, "--to", "html", timeout=300).stdout
    assert Reader(page).tags["article"] - page.count("<article>") == count
    text = redline("export", path, "--to", "markdown", timeout=300).stdout
    assert sum(line.startswith("### ") for line in outside_of_fences(text)) == count


@pytest.mark.parametrize("target", FORMATS)
def test_body_in_the_target_format_is_legal(tmp_path, target):
    """The output is a request body that the other provider would take."""
    done = redline("export", "--body", write_session(tmp_path / "s.jsonl"), "--to", target)
    body = json.loads(done.stdout)
    assert check(body[FORMATS[target].messages_field], format=target) == []


def test_unknown_conversation_is_refused(tmp_path):
    """A number that the file does not have is a clear error."""
    done = redline("export", "--body", write_session(tmp_path / "s.jsonl"), "--to", "gemini", "--conversation", "4")
    assert (done.returncode, "holds 1 conversations" in done.stderr) == (2, True)


def test_what_is_lost_is_listed(tmp_path):
    """Signed reasoning does not travel, and the command says so."""
    path = tmp_path / "messages.json"
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "ok"}]}
    path.write_text(json.dumps([{"role": "user", "content": "hi"}, answer]))
    done = redline("export", "--body", path, "--to", "openai_chat")
    assert (done.returncode, "not carried: message 1: signed reasoning" in done.stderr) == (0, True)


DUPLICATES = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "lost"}]},
]
"""A call without a result and a result without a call."""


@pytest.mark.parametrize("command", [("export", "--body"), ("export",)])
def test_what_a_provider_would_refuse_is_said(tmp_path, command):
    """The exit code is 1 exactly if the body that was written is illegal, and standard error says what is wrong (R20)."""
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(DUPLICATES))
    for target in FORMATS:
        done = redline(*command, path, "--to", target)
        body = json.loads(done.stdout)
        messages = body if isinstance(body, list) else body[FORMATS[target].messages_field]
        problems = check(messages, format=target) if messages else []
        assert done.returncode == int(bool(problems))
        assert ("would be refused" in done.stderr) == bool(problems)


def test_several_sessions_are_a_body_a_line(tmp_path):
    """And what cannot be read is named (R39)."""
    for name in ("a.jsonl", "b.jsonl"):
        write_session(tmp_path / name)
    (tmp_path / "c.jsonl").write_text("hello")
    done = redline("export", "--body", tmp_path, "--to", "openai_chat")
    assert (done.returncode, "c.jsonl" in done.stderr) == (2, True)
    assert [len(json.loads(line)["messages"]) for line in done.stdout.splitlines()] == [8, 8]


def test_which_of_several_conversations_is_said(tmp_path):
    """Nobody should take the first for all."""
    path = tmp_path / "bodies.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "one"}]}\n{"messages": [{"role": "user", "content": "two"}]}\n')
    done = redline("export", "--body", path, "--to", "anthropic", "--conversation", "1")
    assert ("two" in done.stdout, "one" in done.stdout) == (True, False)
    assert "conversation 1 of 2" in done.stderr
