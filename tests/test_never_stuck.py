"""Sessions that a provider refuses for their size live on: through library, transport, proxy and `redline repair`."""

import json
import os

import httpx
import pytest

import redline
from redline import Policy, check, legal_tools, make_legal, mend_transcript
from redline.conversation.conversation import Conversation
from redline.conversation.editor import Editor
from redline.providers.limits.table import RequestLimits
from redline.testing import fake_provider
from redline.transport.editing import WireEditor
from redline.transport.transport import RedlineTransport
from tests.cli.run import redline as run_redline
from tests.heavy_sessions import FIELDS, MODELS, PATHS, body_of, picture_count, post, screenshots, tools
from tests.proxy.support import proxy

MEDIA = {"anthropic": 100, "openai_chat": 1_500, "openai_responses": 1_500, "gemini": 3_600}
PICTURES_LEFT = {"anthropic": 90, "openai_chat": 1_350, "openai_responses": 1_350, "gemini": 3_240}


def too_many(format):
    """One picture more than the model's provider takes."""
    return screenshots(format, MEDIA[format] + 1, width=64, height=64, at_once=1 if format == "anthropic" else 10)


def through_make_legal(provider, format, messages, tmp_path):
    return post(provider.url, format, body_of(format, make_legal(messages, format=format, model=MODELS[format])))[0]


def through_conversation(provider, format, messages, tmp_path):
    talk = Conversation(format=format)
    for message in messages:
        talk.add(message)
    return post(provider.url, format, body_of(format, talk.request(model=MODELS[format]).messages))[0]


def through_editor(provider, format, messages, tmp_path):
    made = Editor(tmp_path / "store").edit(messages, format=format, model=MODELS[format])
    return post(provider.url, format, body_of(format, made.messages))[0]


def through_transport(provider, format, messages, tmp_path):
    with httpx.Client(transport=RedlineTransport(tmp_path / "store", policy=Policy(strategy="answer")), timeout=60) as client:
        body = body_of(format, messages)
        return client.post(provider.url + PATHS[format], content=body, headers={"x-api-key": "k"}).status_code


def through_proxy(provider, format, messages, tmp_path):
    with proxy(provider.url, tmp_path, editor=WireEditor(Editor(tmp_path / "store"))) as running:
        return post(f"http://127.0.0.1:{running.port}", format, body_of(format, messages))[0]


WAYS = [through_make_legal, through_conversation, through_editor, through_transport, through_proxy]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.removeprefix("through_"))
on_the_wire = pytest.mark.parametrize("way", WAYS[3:], ids=lambda way: way.__name__.removeprefix("through_"))
every_api = pytest.mark.parametrize("format", PATHS)


SLOW = pytest.mark.skipif(not os.environ.get("REDLINE_SLOW"), reason="takes seconds each; REDLINE_SLOW=1 runs all of them")
IN_EVERY_RUN = (through_transport, "openai_responses"), (through_proxy, "openai_chat"), (through_make_legal, "gemini")


@pytest.mark.parametrize(
    ("format", "way"),
    [
        pytest.param(api, way, marks=() if api == "anthropic" or (way, api) in IN_EVERY_RUN else SLOW)
        for api in PATHS
        for way in WAYS
    ],
)
def test_more_pictures_than_are_taken(format, way, tmp_path):
    """Without Redline the provider refuses the picture too many, and each request after it; with it the oldest tenth goes."""
    messages = too_many(format)
    with fake_provider() as provider:
        assert post(provider.url, format, body_of(format, messages))[0] == 400
        assert way(provider, format, messages, tmp_path) == 200
    sent = provider.exchanges[-1].body[FIELDS[format]]
    assert picture_count(sent) == PICTURES_LEFT[format]
    assert sent[-1] == messages[-1]
    assert check(sent, format=format, model=MODELS[format]) == []


@pytest.mark.parametrize("way", [pytest.param(way, marks=() if way is through_proxy else SLOW) for way in WAYS])
def test_34_megabytes(way, tmp_path):
    """A body of more than 32 MB, at a small share of the window: the oldest screenshots give way, by their bytes."""
    messages = screenshots("anthropic", 34, padding=750_000)
    with fake_provider() as provider:
        status, said = post(provider.url, "anthropic", body_of("anthropic", messages))
        assert (status, b"request_too_large" in said) == (413, True)
        assert way(provider, "anthropic", messages, tmp_path) == 200
    assert 25 <= picture_count(provider.exchanges[-1].body["messages"]) <= 31


@every_way
def test_a_picture_of_9000_pixels(way, tmp_path):
    """It is refused whatever else is sent, so that it goes at once, though it is the newest; the others stay."""
    messages = screenshots("anthropic", 3) + screenshots("anthropic", 1, width=9_000)[1:]
    messages[-2]["content"][0]["id"] = messages[-1]["content"][0]["tool_use_id"] = "large"
    with fake_provider() as provider:
        status, said = post(provider.url, "anthropic", body_of("anthropic", messages))
        assert (status, b"max allowed size: 8000 pixels" in said) == (400, True)
        assert way(provider, "anthropic", messages, tmp_path) == 200
    sent = provider.exchanges[-1].body["messages"]
    assert picture_count(sent) == 3
    assert "9000x800" in str(sent[-1])


@every_way
def test_retina_screenshots(way, tmp_path):
    """From the 21st picture on Anthropic takes 2,000 pixels only: then the oldest go until there are few again."""
    messages = screenshots("anthropic", 21, width=2_880)
    with fake_provider() as provider:
        assert post(provider.url, "anthropic", body_of("anthropic", messages))[0] == 400
        assert way(provider, "anthropic", messages, tmp_path) == 200
    assert picture_count(provider.exchanges[-1].body["messages"]) == 18


@on_the_wire
@pytest.mark.parametrize("format", ["anthropic", "openai_chat", "openai_responses"])
def test_52_screenshots_where_50_are_taken(format, way, tmp_path):
    """A server takes fewer than its model's maker: the limit is read from its refusal, kept, and sent again within it."""
    messages = screenshots(format, 52)
    with fake_provider(limits=RequestLimits(media=50)) as provider:
        assert post(provider.url, format, body_of(format, messages))[0] == 400
        assert way(provider, format, messages, tmp_path) == 200
        assert provider.statuses == [400, 400, 200]
        assert way(provider, format, screenshots(format, 53), tmp_path) == 200  # another process knows it from the record
    assert provider.statuses == [400, 400, 200, 200]
    assert picture_count(provider.exchanges[2].body[FIELDS[format]]) == 45


@on_the_wire
@every_api
def test_a_server_that_takes_fewer_bytes(format, way, tmp_path):
    """What it says of its limit is learned; where it only answers 413, a fifth less than was refused."""
    messages = screenshots(format, 30, padding=45_000)
    with fake_provider(limits=RequestLimits(request_bytes=1_600_000)) as provider:
        assert way(provider, format, messages, tmp_path) == 200
        assert way(provider, format, screenshots(format, 31, padding=45_000), tmp_path) == 200
    assert provider.statuses in ([413, 200, 200], [400, 200, 200])
    assert 3 < picture_count(provider.exchanges[-1].body[FIELDS[format]]) < 27


@on_the_wire
@every_api
def test_a_smaller_window_than_the_model_has(format, way, tmp_path):
    """`prompt is too long`, in each provider's words: the largest old results give way, and the history goes on."""
    messages = results(format, 40)
    with fake_provider(limits=RequestLimits(tokens=60_000)) as provider:
        assert way(provider, format, messages, tmp_path) == 200
    assert provider.statuses == [400, 200]
    sent = provider.exchanges[-1].body[FIELDS[format]]
    assert sent[-1] == messages[-1]
    assert len(sent) == len(messages)


def results(format, count):
    """A session of long results."""
    messages = screenshots(format, count)
    for message in messages:
        for block in message.get("content") or () if isinstance(message.get("content"), list) else ():
            if block["type"] == "tool_result":
                block["content"] = "word " * 2_000
            elif block["type"] == "image_url":
                block |= {"type": "text", "text": "And now?"}
                del block["image_url"]
        if message.get("role") == "tool":
            message["content"] = "word " * 2_000
        if message.get("type") == "function_call_output":
            message["output"] = "word " * 2_000
        if "functionResponse" in (message.get("parts") or [{}])[0]:
            del message["parts"][1:]
            message["parts"][0]["functionResponse"]["response"]["output"] = "word " * 2_000
    return messages


@on_the_wire
def test_what_cannot_be_made_smaller(way, tmp_path):
    """The client gets the provider's own error, once more was tried."""
    messages = screenshots("anthropic", 2)
    with fake_provider(limits=RequestLimits(request_bytes=300)) as provider:
        assert way(provider, "anthropic", messages, tmp_path) == 413
    assert 200 not in provider.statuses


TOOLS = {"openai_chat": 128, "openai_responses": 128, "gemini": 512}


@on_the_wire
@pytest.mark.parametrize("format", TOOLS)
def test_a_tool_too_many(format, way, tmp_path):
    """Of those that were never called the latest goes; the tool that the history calls stays, though it is the last."""
    messages, most = screenshots(format, 2), TOOLS[format]
    body = body_of(format, messages, tools=tools(format, most + 1))
    with fake_provider() as provider:
        assert post(provider.url, format, body)[0] == 400
        if way is through_proxy:
            with proxy(provider.url, tmp_path, editor=WireEditor(Editor(tmp_path / "store"))) as running:
                assert post(f"http://127.0.0.1:{running.port}", format, body)[0] == 200
        else:
            with httpx.Client(transport=RedlineTransport(tmp_path / "store", policy=Policy(strategy="answer"))) as client:
                assert client.post(provider.url + PATHS[format], content=body, headers={"x-api-key": "k"}).status_code == 200
    declared = str(provider.exchanges[-1].body["tools"])
    assert ("'screenshot'" in declared, f"'tool_{most - 1}'" in declared, f"'tool_{most - 2}'" in declared) == (
        True,
        False,
        True,
    )


@pytest.mark.parametrize("format", TOOLS)
def test_legal_tools(format):
    """For callers of an SDK; where nothing is known of the model, or the provider says nothing, all stay."""
    declared, messages = tools(format, TOOLS[format] + 1), screenshots(format, 2)
    kept = legal_tools(declared, messages, model=MODELS[format], format=format)
    talk = Conversation(messages, format=format, tools=declared)
    assert list(talk.request(model=MODELS[format]).tools) == kept
    assert str(kept).count("'name'") == TOOLS[format]
    assert legal_tools(declared, messages, model="any", format=format) == declared
    claude = tools("anthropic", 600)
    assert legal_tools(claude, screenshots("anthropic", 1), model="claude-opus-5") == claude


def claude_code_file(path, messages, model):
    """A session of Claude Code with these messages."""
    before, lines = None, []
    for number, message in enumerate(messages):
        line = {"type": message["role"], "uuid": f"u{number}", "parentUuid": before, "sessionId": "s1", "message": message}
        if message["role"] == "assistant":
            line["message"] = {**message, "id": f"m{number}", "model": model, "usage": {"input_tokens": 1, "output_tokens": 1}}
        lines.append(json.dumps({**line, "timestamp": "2026-02-04T00:00:01Z"}))
        before = f"u{number}"
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("format", [pytest.param(api, marks=SLOW if api == "gemini" else ()) for api in PATHS])
def test_a_repaired_list(format, tmp_path):
    """`redline repair` writes a file that goes on, in the format of each API, and the old one stays beside it."""
    file, messages = tmp_path / "session.json", too_many(format)
    file.write_text(json.dumps(messages))
    done = run_redline("repair", file, "--in-place")
    assert done.returncode == 0, done.stderr
    repaired = json.loads(file.read_text())
    assert picture_count(repaired) == PICTURES_LEFT[format]
    assert json.loads((tmp_path / "session.json.bak").read_text()) == messages
    with fake_provider() as provider:
        assert post(provider.url, format, body_of(format, repaired))[0] == 200


@pytest.mark.parametrize(("model", "left"), [("claude-haiku-4-5", 90), ("claude-opus-5", 101)])
def test_a_repaired_session_of_claude_code(model, left, tmp_path):
    """Each picture that goes gives way in its own line; a model that takes more pictures has nothing to repair."""
    file = tmp_path / "session.jsonl"
    claude_code_file(file, screenshots("anthropic", 101), model)
    mended = mend_transcript(file)
    assert {fix.action for fix in mended.fixes} <= {"change"}
    assert len(mended.fixes) == 101 - left
    assert mended.content.count(b"iVBORw0KGgo") == left


def test_undone_and_pinned_pictures(tmp_path):
    """A strike for a limit is one like any other: with its reason, in the record, undone for good, and kept from by a pin."""
    talk = Conversation(screenshots("anthropic", 101), format="anthropic", log=tmp_path / "log.jsonl")
    talk.pin(2)
    first = talk.request(model="claude-haiku-4-5")
    assert {strike.rule for strike in first.new_strikes} == {"limits"}
    assert {strike.index for strike in first.new_strikes} == set(range(4, 26, 2))
    assert "101 pictures and pages" in first.new_strikes[0].because
    again = talk.request(model="claude-haiku-4-5")
    assert (again.new_strikes, len(again.strikes)) == ((), 11)
    talk.undo(first.new_strikes[0].number)
    assert len(talk.request(model="claude-haiku-4-5").strikes) == 10  # 91 are few enough
    talk.close()
    with redline.open(tmp_path / "log.jsonl") as reopened:
        assert len(reopened.request(model="claude-haiku-4-5").strikes) == 10


def test_what_goes_stays_gone_for_a_while():
    """A tenth more than needed goes, so that what is sent stays the same, and cached, for the next ten pictures."""
    talk, sent = Conversation(format="anthropic"), []
    for message in screenshots("anthropic", 130):
        talk.add(message)
        if message["role"] == "user":
            sent.append(len(talk.request(model="claude-haiku-4-5").new_strikes))
    assert [count for count in sent if count] == [11, 11, 11]


def test_the_users_words_and_the_newest_results_stay():
    """Only results give way to a window that is too small, the largest first, never the newest three."""
    talk = Conversation(results("anthropic", 30), format="anthropic")
    assert talk.learn_limit(400, "prompt is too long: 80000 tokens > 60000 maximum") == "tokens"
    struck = {strike.index for strike in talk.request(model="claude-haiku-4-5").strikes}
    assert struck
    assert struck.isdisjoint({0, 56, 58, 60})
    assert talk.learn_limit(400, "messages: roles must alternate") == ""


def test_a_kept_picture_is_found_again():
    """The line says where the picture is kept, and recall says that it is one."""
    talk = Conversation(screenshots("anthropic", 101), format="anthropic")
    line = talk.request(model="claude-haiku-4-5").strikes[0].replacement
    assert line == (
        "[Left out, as the request was too large for the provider: screenshot, image/png, 1280x800, 33 B; "
        "kept in the record as #2.0]"
    )
    assert "image/png" in talk.recall("#2.0")


def test_reasoning_that_is_bound_to_pictures():
    """Within a turn only what comes after the last signed reasoning can go; at a new turn the oldest, and the reasoning."""
    model, messages = "claude-opus-5-5", screenshots("anthropic", 602)
    signed = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    messages[1]["content"].insert(0, signed)
    talk = Conversation(messages, format="anthropic")
    struck = {strike.index for strike in talk.request(model=model).strikes if strike.rule == "limits"}
    assert min(struck) == 2  # all pictures come after it
    messages[1201]["content"].insert(0, signed)
    within = Conversation(messages, format="anthropic").request(model=model)
    assert {strike.index for strike in within.strikes} == {1202, 1204}
    talk = Conversation([*messages, {"role": "user", "content": "And now?"}], format="anthropic")
    made = talk.request(model=model)
    assert {strike.rule for strike in made.strikes} == {"limits", "bound_reasoning"}
    assert picture_count(made.messages) == 540
    assert "thinking" not in json.dumps(made.messages)


@pytest.mark.parametrize("note", ["learned", "left out", "fewer tools", "window near"])
def test_limits_are_told(note, tmp_path):
    """In the status, and in the lines with which a run ends."""
    messages, more, limits = screenshots("anthropic", 101), {}, None
    format = "anthropic"
    if note == "learned":
        messages, limits = screenshots("anthropic", 52), RequestLimits(media=50)
    elif note == "fewer tools":
        format, messages, more = "openai_chat", screenshots("openai_chat", 1), {"tools": tools("openai_chat", 129)}
    elif note == "window near":
        messages = results("anthropic", 90)
    rules = ["masked_results"] if note == "window near" else []
    editor = WireEditor(Editor(tmp_path / "store", policy=Policy(rules=rules, schedule="eager")))
    with fake_provider(limits=limits) as provider, proxy(provider.url, tmp_path, editor=editor) as running:
        body = body_of(format, messages, **more)
        assert post(f"http://127.0.0.1:{running.port}", format, body)[0] == 200
        status = running.settled(1)
    assert status["totals"]["limits"] == {note: 1}
    assert any("1 request was" in line for line in status["notes"])
