"""The MCP server as an agent meets it: `redline mcp` in a process of its own, asked by the official client."""

import asyncio
import re
import sys

import pytest

import redline
from redline.record.blobs import DirectoryBlobs
from redline.rules import Faded, OffloadResults
from redline.testing import asks, conversation, says
from tests.cli.run import FROM_HERE
from tests.store.places import KINDS, new_place
from tests.test_editor_sessions import shared_log

MINUTE = 60_000
MODEL = "claude-sonnet-4-5"
POLICY = redline.Policy(
    rules=[Faded(0, recall_tool="recall"), OffloadResults(min_chars=5_000)], words=redline.EN, schedule="eager"
)
FADED = redline.Policy(rules=[Faded(0, recall_tool="recall")], words=redline.EN, schedule="eager")
LOG = "".join(f"line {number}\n" for number in range(1_000))


def worked():
    """A build with a long output, then eight files read."""
    turns = [says("user", "Why does the build fail?"), *asks("Bash", {"command": "make"}, LOG, id="call_0")]
    for number in range(8):
        turns += asks("Read", {"file_path": f"/{number}.py"}, f"text {number} " * 60, id=f"call_{number + 1}")
    return conversation("anthropic", turns)


def fill(store, blobs, messages):
    """What an agent sends by way of an Editor, request by request; the last of them."""
    with redline.Editor(store, policy=POLICY, blobs=DirectoryBlobs(blobs)) as editor:
        for end in range(1, len(messages) + 1, 2):
            request = editor.edit(messages[:end], now=end * MINUTE, model=MODEL)
            editor.report(request, {"input_tokens": 100 * end, "output_tokens": 10})
    return request


def ask(arguments, work):
    """Let a client of the server that these arguments start do something."""
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp.client.stdio import StdioServerParameters

    async def within():
        command = ["-m", "redline", "mcp", *map(str, arguments)]
        started = StdioServerParameters(command=sys.executable, args=command, env=FROM_HERE)
        async with mcp.Client(started) as client:
            return await work(client)

    return asyncio.run(asyncio.wait_for(within(), 60))


async def call(client, tool, **arguments):
    """What a tool answers: its words, or its structure."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.content[0].text if tool in ("recall", "search_record", "undo_strike") else answer.structured_content


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    """An address in each kind of store."""
    return new_place(request.param, tmp_path, request)


def test_an_agent_looks_at_its_own_session(store, tmp_path):
    """Strikes with references that recall takes, offloaded results, the report; and a strike undone is sent again."""
    messages = worked()
    request = fill(store, tmp_path / "blobs", messages)

    async def look(client):
        listed = await call(client, "list_strikes", limit=100)
        struck = next(row for row in listed["strikes"] if row["rule"] == "faded")
        read = await call(client, "recall", reference=struck["reference"])
        stub = next(str(strike.replacement) for strike in request.strikes if strike.rule == "offload_results")
        tail = await call(client, "recall", reference=stub, lines="-1")
        offloaded = await call(client, "search_record", words="line 777")
        assert offloaded.endswith("#2.0:778 Bash: line 777")
        assert f"Read: {read[:6]}" in await call(client, "search_record", words=read[:6], limit=3)
        report = await call(client, "session_report")
        undone = await call(client, "undo_strike", number=struck["number"])
        return listed, struck, read, tail, report, undone

    with redline.Store(store) as opened:
        (address,) = map(opened.address_of, opened.names())
    listed, struck, read, tail, report, undone = ask([address, "--blobs", tmp_path / "blobs"], look)
    assert listed["total"] == len(request.strikes)
    assert read.startswith("text ")
    assert struck["begins"] in read
    assert (struck["state"], tail) == ("struck", "line 999")
    assert report["requests"] == (len(messages) + 1) // 2
    assert report["struck_tokens"] > 0
    assert report["saved_usd"] == pytest.approx(report["cost_without_strikes_usd"] - report["cost_usd"], abs=1e-5)
    assert "undone" in undone
    after = fill(store, tmp_path / "blobs", [*messages, says_more()])
    assert read in str(after.messages)
    assert read not in str(request.messages)


def says_more():
    return conversation("anthropic", [says("user", "Go on.")])[0]


def test_what_is_wrong_is_told_to_the_model(tmp_path):
    """In words; nothing outside of the store can be named, and read-only leaves the tool out that writes."""
    store = tmp_path / "chats"
    fill(store, tmp_path / "blobs", worked())
    (tmp_path / "secret.jsonl").write_text("{}\n")

    async def look(client):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        asked = [
            ("recall", {"reference": "#999.0"}),
            ("recall", {"reference": "no reference"}),
            ("recall", {"reference": "#2.0", "session": "../secret"}),
            ("list_strikes", {"limit": 0}),
            ("search_record", {"words": "build", "session": "../secret"}),
            ("search_record", {"limit": 5}),
            ("search_record", {"grep": "(x+)+("}),
        ]
        return tools, [await client.call_tool(tool, arguments) for tool, arguments in asked]

    (name,) = redline.Store(store).names()
    tools, answers = ask([store / f"{name}.jsonl", "--read-only"], look)
    assert tools == ["recall", "search_record", "list_strikes", "session_report"]
    assert [answer.is_error for answer in answers] == [True] * 7
    words = [answer.content[0].text for answer in answers]
    expected = [
        *("nothing to read at #999.0", "names no part", "was started for the session", "limit must be"),
        *("was started for the session", "nothing to look for", "no regular expression"),
    ]
    assert [one in said for one, said in zip(expected, words, strict=True)] == [True] * 7


async def refusals(client, **arguments):
    """What every tool says where it does not answer."""
    asked = {"recall": {"reference": "#2.0"}, "search_record": {"words": "text"}, "list_strikes": {}, "session_report": {}}
    asked["undo_strike"] = {"number": 0}
    answers = [await client.call_tool(tool, {**needed, **arguments}) for tool, needed in asked.items()]
    assert [answer.is_error for answer in answers] == [True] * 5
    return {re.sub(r"^Error executing tool \w+: ", "", answer.content[0].text) for answer in answers}


def test_without_a_session_it_answers_from_none(tmp_path):
    """R125: the latest session of a store may be anybody's, also if it is the only one, and so may one that a model names."""
    store = tmp_path / "chats"
    fill(store, tmp_path / "blobs", worked())
    (name,) = redline.Store(store).names()

    async def look(client):
        return await refusals(client) | await refusals(client, session=name)

    (said,) = ask(["--store", store], look)
    assert "cannot tell which session is yours" in said
    assert "redline run" in said


def test_one_session_alone(tmp_path):
    """R125: a server that was started for a session says nothing of others, whatever is gone on with meanwhile."""
    store = tmp_path / "chats"
    fill(store, tmp_path / "blobs", worked())
    (first,) = redline.Store(store).names()
    fill(store, tmp_path / "blobs", [says_more(), *worked()[1:]])
    (second,) = set(redline.Store(store).names()) - {first}

    async def look(client):
        report = await call(client, "session_report")
        assert "Nothing was found" in await call(client, "search_record", words="Go on")
        assert "#0.0:1 user: Why" in await call(client, "search_record", words="build")
        return report["session"], await refusals(client, session=second)

    name, said = ask([store / f"{first}.jsonl"], look)
    assert (name, said) == (first, {f"This server was started for the session {first} alone."})


def told(owner, count=8):
    """A session that begins as all of them do, and reads files of its owner's."""
    turns = [says("user", "Why does the build fail?")]
    for number in range(count):
        turns += asks("Read", {"file_path": f"/{number}.py"}, f"{owner} {number} " * 60, id=f"{owner}_{number}")
    return conversation("anthropic", turns)


def fill_two(store, names):
    """Two sessions in one log, as older versions kept them, the second gone on with last; and the last requests."""
    name = shared_log(store, [(session, told(owner, 1)) for owner, session in zip("AB", names, strict=True)])
    requests = []
    with redline.Editor(store, policy=FADED) as editor:
        for owner, session in zip("AB", names, strict=True):
            messages = told(owner)
            sent = [
                editor.edit(messages[:end], now=end * MINUTE, model=MODEL, session=session)
                for end in range(3, len(messages) + 1, 2)
            ]
            requests.append(sent[-1])
    with redline.Store(store) as opened:
        assert opened.names() == (name,)
        return opened.address_of(name), requests


@pytest.mark.parametrize(
    ("store", "names"), list(zip(KINDS, [("a", "b"), ("", "b"), ("", "")], strict=True)), indirect=["store"], ids=KINDS
)
def test_sessions_that_begin_alike_are_not_mixed(store, names):
    """R125: one log, two sessions: each server sees its own strikes and words, and undoes only its own."""
    address, _ = fill_two(store, names)
    (said,) = ask([address], refusals)
    assert "holds several sessions that begin alike" in said
    first, second = said.split("cannot be told: ")[1].split(". Start")[0].split(", ")

    async def undo(client):
        listed = await call(client, "list_strikes", limit=100)
        struck = listed["strikes"][0]
        read = [await call(client, "recall", reference=row["reference"]) for row in listed["strikes"]]
        found = await call(client, "search_record", grep="^[AB] ", limit=100)
        return listed, read, found, await call(client, "undo_strike", number=struck["number"])

    listed, read, found, _ = ask([address, "--session", first], undo)
    assert all(text.startswith("A ") for text in read)
    assert found.count("Read: A ") == 8
    assert "Read: B" not in found
    assert all(row["begins"].startswith("A ") for row in listed["strikes"])

    async def look(client):
        return await call(client, "list_strikes", limit=100), await call(client, "recall", reference="#2.0")

    others, text = ask([address, "--session", second], look)
    assert {row["state"] for row in others["strikes"]} == {"struck"}
    assert text.startswith("B ")
    with redline.Editor(store, policy=FADED) as editor:
        requests = [
            editor.edit([*told(owner), says_more()], now=50 * MINUTE, model=MODEL, session=session)
            for owner, session in zip("AB", names, strict=True)
        ]
    undone = listed["strikes"][0]["reference"].strip("#").split(".")[0]
    for owner, request, is_sent in zip("AB", requests, (True, False), strict=True):
        number = int(undone) // 2 - 1
        assert (f"{owner} {number} " * 60 in str(request.messages)) is is_sent


def test_a_server_stays_with_the_session_it_was_started_for(tmp_path):
    """R125: an older version adds another one that begins alike to the log while it runs: it goes on with its own."""
    store = tmp_path / "chats"
    messages = told("A")
    with redline.Editor(store, policy=FADED) as editor:
        for end in range(1, len(messages) + 1, 2):
            editor.edit(messages[:end], now=end * MINUTE, model=MODEL)
    (name,) = redline.Store(store).names()

    async def look(client):
        before = await call(client, "list_strikes", limit=100)
        shared_log(store, [("b", told("B"))])
        after = await call(client, "list_strikes", limit=100)
        return before, after, await call(client, "recall", reference="#2.0")

    before, after, text = ask([store / f"{name}.jsonl"], look)
    assert before["strikes"] == after["strikes"]
    assert text.startswith("A ")


def test_places_of_the_whole_conversation_are_read_from_there(tmp_path):
    """An outline names places of the conversation that it stands for: they are read in that one, not in its own."""
    with redline.open(tmp_path / "whole.jsonl", format="anthropic") as talk:
        for message in told("A"):
            talk.add(message)
        first = "Why does the build fail?"
        with talk.compact("outline", keep_last=2) as made:
            own = made.messages[0]["content"]
            address = made.name

    async def look(client):
        refused = await client.call_tool("recall", {"reference": "4#0.0"})
        return [(await call(client, "recall", reference=place)) for place in ("0#0.0", "#0.0")], refused.content[0].text

    (whole, present), unknown = ask([address], look)
    assert (whole, whole == present) == (first, False)
    assert str(present)[:20] in str(own)
    assert "There is no conversation 4 before this one" in unknown
