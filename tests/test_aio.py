"""The same conversation for asyncio."""

import asyncio
import inspect
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Conversation, ExecutionError, RedlineError, ValidationError
from redline.conversation import aio
from redline.record.backends.memory import MemoryLog
from redline.record.blobs.blobs import MemoryBlobs
from redline.testing import asks, conversation, says
from tests.effort import tries


def user(text):
    return {"role": "user", "content": text}


def history(count=6):
    turns = [turn for number in range(count) for turn in asks("read", {"path": "a"}, "x" * 900, id=f"c{number}")]
    return conversation("openai_chat", [says("user", "hi"), *turns])


class SlowLog(MemoryLog):
    """A log on a slow disk."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def append(self, records, *, parent):
        time.sleep(self.seconds)
        return super().append(records, parent=parent)


def public_names(owner):
    return {name for base in owner.__mro__ for name in vars(base) if not name.startswith("_")}


# --- the same facade


def test_nothing_is_missing():
    """Every public method and value of a conversation is there, and besides only the way to close it."""
    assert public_names(aio.Conversation) == public_names(Conversation) | {"close"}


@pytest.mark.parametrize("name", ["compact", "compact_when", "on_token_limit"])
def test_what_takes_functions_takes_the_same_parameters(name):
    """These are written out, because their functions may be async; names and defaults are those of the original."""
    here, there = (inspect.signature(getattr(owner, name)).parameters for owner in (aio.Conversation, Conversation))
    assert [(one.name, one.kind, one.default) for one in here.values()] == [
        (one.name, one.kind, one.default) for one in there.values()
    ]


def test_parameters_and_documents_are_those_of_the_original():
    """Whoever asks for help gets it."""
    talk = aio.Conversation(Conversation())
    assert inspect.signature(talk.add) == inspect.signature(Conversation.add)
    assert aio.Conversation.add.__doc__ == Conversation.add.__doc__
    assert inspect.iscoroutinefunction(talk.add)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.builds(user, st.text(max_size=5))),
        st.tuples(st.just("add"), st.sampled_from(history())),
        st.tuples(
            st.just("process"), st.builds(lambda n: {"operation": "truncate", "truncate": {"keep_last": n}}, st.integers(-1, 4))
        ),
        st.tuples(st.sampled_from(["pin", "unpin", "rewind", "start_batch", "rollback", "undo"]), st.integers(0, 8)),
    ),
    max_size=12,
)


@tries(60)
@given(steps)
def test_calls_do_what_they_do_without_asyncio(steps):
    """Any sequence of calls gives the same messages, the same errors and the same bytes to send."""
    plain = Conversation(blobs=MemoryBlobs())

    async def run():
        async with aio.Conversation(Conversation(blobs=MemoryBlobs())) as talk:
            for name, value in steps:
                assert await outcome_of(getattr(talk, name), value) == outcome(getattr(plain, name), value)
                plain_request = plain.request(now=0, rules=["masked_results"])
                assert (await talk.request(now=0, rules=["masked_results"])).body == plain_request.body
            assert await talk.all_messages == plain.all_messages
            assert await talk.visible_indices == plain.visible_indices
            assert await talk.branches == plain.branches

    asyncio.run(run())


def outcome(call, value):
    try:
        return call(value)
    except RedlineError as problem:
        return str(problem)


async def outcome_of(call, value):
    try:
        return await call(value)
    except RedlineError as problem:
        return str(problem)


def test_a_durable_conversation_is_opened(tmp_path):
    """It is on the disk when `add` returns, and its requests have the same bytes afterwards."""

    async def run():
        async with await aio.open(tmp_path / "chat.jsonl") as talk:
            for message in history():
                await talk.add(message)
            sent = (await talk.request(now=0)).body
        async with await aio.open(tmp_path / "chat.jsonl") as again:
            assert (await again.request(now=0)).body == sent

    asyncio.run(run())


def test_a_fork_is_a_conversation_of_its_own():
    """To be awaited as well."""

    async def run():
        talk = aio.Conversation(Conversation([user("a")]))
        fork = await talk.fork()
        await fork.add(user("b"))
        assert (len(await talk.messages), len(await fork.messages)) == (1, 2)

    asyncio.run(run())


# --- the loop goes on


def test_a_slow_log_does_not_block_the_loop():
    """While a call waits for the disk, other tasks run."""

    async def run():
        talk = aio.Conversation(Conversation(log=SlowLog(0.5)))
        adding = asyncio.create_task(talk.add(user("a")))
        ticks = 0
        while not adding.done():
            await asyncio.sleep(0.005)
            ticks += 1
        assert adding.result() == 0
        assert ticks > 10

    asyncio.run(run())


def test_concurrent_calls_keep_their_order():
    """All messages are kept, in the order in which they were added, and each call is told its own index."""

    async def run():
        talk = aio.Conversation(Conversation(log=SlowLog(0.001)))
        indices = await asyncio.gather(*(talk.add(user(str(number))) for number in range(100)))
        assert indices == list(range(100))
        assert [message["content"] for message in await talk.messages] == [str(number) for number in range(100)]

    asyncio.run(run())


def test_conversations_do_not_wait_for_each_other():
    """Each has a thread of its own."""

    async def run():
        talks = [aio.Conversation(Conversation(log=SlowLog(0.2))) for _ in range(10)]
        started = time.perf_counter()
        await asyncio.gather(*(talk.add(user("a")) for talk in talks))
        assert time.perf_counter() - started < 1.5

    asyncio.run(run())


# --- what is cancelled


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1])
def test_cancelling_leaves_the_conversation_whole(delay):
    """At whatever moment: memory and log agree, later calls work, and what was not begun is not done."""

    async def run():
        log = SlowLog(0.05)
        talk = aio.Conversation(Conversation(log=log))
        tasks = [asyncio.create_task(talk.add(user(str(number)))) for number in range(4)]
        await asyncio.sleep(delay)
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        await talk.add(user("later"))
        kept = [message["content"] for message in await talk.messages]
        assert kept[-1] == "later"
        assert kept[:-1] == [str(number) for number in range(len(kept) - 1)]
        assert len(kept) - 1 in (len([one for one in done if isinstance(one, int)]) + extra for extra in (0, 1))
        assert Conversation(log=log).messages == await talk.messages

    asyncio.run(run())


def test_cancelling_a_compaction_cancels_the_summary():
    """The async function is told, nothing is compacted, and the conversation goes on."""

    async def run():
        talk = aio.Conversation(Conversation(history()))
        before = (await talk.request(now=0)).body
        asked, told = asyncio.Event(), asyncio.Event()

        async def summarize(messages):
            asked.set()
            try:
                await asyncio.sleep(60)
            finally:
                told.set()

        compacting = asyncio.create_task(talk.compact(summarize, keep_last=2, in_place=True))
        await asked.wait()
        compacting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await compacting
        await asyncio.wait_for(told.wait(), 5)
        assert (await talk.request(now=0)).body == before

    asyncio.run(run())


def test_the_loop_may_end_while_a_summary_is_awaited():
    """The thread does not wait for an answer that cannot come."""

    async def run():
        talk = aio.Conversation(Conversation(history()))
        asked = asyncio.Event()

        async def summarize(messages):
            asked.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(talk.compact(summarize, keep_last=2))
        await asked.wait()
        return talk, task

    talk, task = asyncio.run(run())
    assert task.cancelled()
    talk._worker.shutdown()  # returns


# --- functions of the caller's


def test_a_summary_may_be_asynchronous():
    """In place the conversation is the same one; else it is another, which names its origin."""

    async def summarize(messages):
        await asyncio.sleep(0)
        return f"{len(messages)} messages"

    async def run():
        talk = aio.Conversation(Conversation(history()))
        other = await talk.compact(summarize, keep_last=2)
        assert "11 messages" in (await other.messages)[0]["content"]
        assert await other.origin == "memory"
        assert len(await talk.messages) == 13
        assert await talk.compact(lambda _: "plain", keep_last=2, in_place=True) is talk
        assert "plain" in (await talk.messages)[0]["content"]

    asyncio.run(run())


def test_a_summary_that_fails_changes_nothing():
    """As without asyncio."""

    async def summarize(messages):
        raise OSError("no network")

    async def run():
        talk = aio.Conversation(Conversation(history()))
        with pytest.raises(ExecutionError, match="no network"):
            await talk.compact(summarize, keep_last=2, in_place=True)
        assert await talk.messages == history()

    asyncio.run(run())


@pytest.mark.parametrize("problem", [TimeoutError("too slow"), asyncio.CancelledError()])
def test_a_summary_that_times_out_fails_at_once(problem):
    """Errors of waiting are errors of the summary, not of the conversation."""

    async def summarize(messages):
        raise problem

    async def run():
        talk = aio.Conversation(Conversation(history()))
        with pytest.raises(ExecutionError, match="nothing was compacted"):
            await asyncio.wait_for(talk.compact(summarize, keep_last=2), 5)

    asyncio.run(run())


def test_a_compaction_may_be_done_in_steps():
    """For callers that ask a model in their own way."""

    async def run():
        talk = aio.Conversation(Conversation(history()))
        steps = await talk.compaction_steps(keep_last=2)
        text = f"{len(next(steps))} messages"
        assert await talk.finish_compaction(steps, text, in_place=True) is talk

    asyncio.run(run())


def test_a_conversation_may_compact_itself():
    """With an async function too; messages that are added meanwhile come behind."""

    async def summarize(messages):
        await asyncio.sleep(0.05)
        return "summary"

    async def run():
        talk = aio.Conversation(Conversation(history()))
        await talk.compact_when(tokens=500, summarize=summarize, keep_last=2)
        used, index = await asyncio.gather(talk.check_tokens(), talk.add(user("meanwhile")))
        shown = await talk.messages
        assert used < 500
        assert "summary" in shown[0]["content"]
        assert (index, shown[-1]) == (14, user("meanwhile"))

    asyncio.run(run())


def test_callbacks_may_be_asynchronous():
    """They are awaited before `check_tokens` returns; plain ones are called in the thread."""
    heard = []

    async def listen(used, limit):
        await asyncio.sleep(0)
        heard.append(("async", limit))

    async def run():
        talk = aio.Conversation(Conversation(history(), token_limit=10))
        await talk.on_token_limit(listen)
        await talk.on_token_limit(lambda _, limit: heard.append(("plain", limit)))
        await talk.check_tokens()

    asyncio.run(run())
    assert heard == [("async", 10), ("plain", 10)]


def test_a_function_that_would_wait_for_itself_is_told_so():
    """The conversation waits for it, so it must not wait for the conversation; a task of its own may."""
    tasks = []

    async def listen(used, limit):
        tasks.append(asyncio.create_task(talk.add(user("from a task"))))
        with pytest.raises(ExecutionError, match="task of its own"):
            await talk.messages
        tasks.append(None)

    async def run():
        nonlocal talk
        talk = aio.Conversation(Conversation(history(), token_limit=10))
        await talk.on_token_limit(listen)
        await talk.check_tokens()
        await tasks[0]
        assert (await talk.messages)[-1] == user("from a task")

    talk = None
    asyncio.run(run())
    assert len(tasks) == 2


# --- the end


def test_a_closed_conversation_says_so():
    """What was called before is done."""

    async def run():
        log = SlowLog(0.05)
        talk = aio.Conversation(Conversation(log=log))
        adding = asyncio.create_task(talk.add(user("a")))
        await asyncio.sleep(0)
        await talk.close()
        assert await adding == 0
        with pytest.raises(ExecutionError, match="closed"):
            await talk.messages
        assert len(Conversation(log=log).messages) == 1

    asyncio.run(run())


def test_errors_are_the_same():
    """With the same words."""

    async def run():
        talk = aio.Conversation(Conversation())
        with pytest.raises(ValidationError):
            await talk.add({})
        with pytest.raises(ExecutionError, match="no message 7"):
            await talk.pin(7)

    asyncio.run(run())
