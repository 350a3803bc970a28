"""OpenAI Agents SDK: a filter of what each call of the model is sent, hooks for usage, and a session in a Redline log."""

import asyncio
import hashlib
import logging
import os
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from agents import Agent, AgentHookContext, FunctionTool, ModelResponse, RunContextWrapper, RunHooks, function_tool
from agents.memory import SessionABC, SessionSettings
from agents.run import CallModelData, ModelInputData

from redline.adapters.framework_editor import CallSettings, EditedCall, FrameworkAdapter, MessageMapping, reported_usage
from redline.adapters.item_log import ItemLog
from redline.errors import ValidationError
from redline.providers.sdk_objects import plain_message
from redline.values.checks import short_repr

__all__ = ["RedlineFilter", "RedlineSession"]

_logger = logging.getLogger("redline.adapters")
_call: ContextVar[EditedCall[Any] | None] = ContextVar("redline_call", default=None)
"""The call of the model that is under way in this task."""
_session: ContextVar[str] = ContextVar("redline_session", default="")
"""The session whose items were last asked for in this task: filters are not told of it."""


class _Items(MessageMapping[Any]):
    """Items, which are those of the Responses API already, also where the model is asked through another one."""

    format = "openai_responses"

    def read(self, message: Any) -> dict[str, Any]:
        plain: dict[str, Any] = message if isinstance(message, dict) else plain_message(message)
        return plain

    def write(self, message: Any, payload: dict[str, Any], _: object = None) -> Sequence[Any]:
        return [payload]


_mapping = _Items()


class RedlineFilter(FrameworkAdapter[Any], RunHooks[Any]):
    """Strikes what is out of date from what the model is sent; what a session keeps stays whole.

    One object in two places: `Runner.run(…, hooks=redline, run_config=RunConfig(call_model_input_filter=redline))`. Agents as
    tools and handoffs pass it, too. `store` is a folder, the address of a database, or an Editor; without one a process that
    is started again cannot send the same bytes.
    """

    mapping = _mapping

    _is_heard = False
    """Whether a hook was called, or it was told that none is."""
    _logs: frozenset[str] = frozenset()
    """The logs of calls until then."""

    @property
    def recall_tool(self) -> FunctionTool:
        """The tool that reads offloaded results back, for `Agent(tools=[…])`; the Editor needs blobs."""
        return function_tool(self._messages.recall)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Edit the input of one call."""
        call = await asyncio.to_thread(self._messages.edit, data.model_data.input, lambda: _settings_of(data))
        _call.set(call)
        if not self._is_heard and call.request is not None:
            if call.request.log in self._logs:  # its model was asked before, and no hook was called by then
                _logger.warning("Usage does not arrive: pass the RedlineFilter as hooks= to Runner.run, too.")
                self._is_heard = True
            self._logs |= {call.request.log}
        return ModelInputData(input=list(call.messages), instructions=data.model_data.instructions)

    async def on_agent_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:
        """We are among the hooks, whether or not the model will answer."""
        self._is_heard = True

    async def on_llm_start(
        self, context: RunContextWrapper[Any], agent: Agent[Any], system_prompt: str | None, input_items: list[Any]
    ) -> None:
        """We are among the hooks; a run that goes on after an approval does not start its agent again."""
        self._is_heard = True

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        """Record what the provider reported."""
        self._is_heard = True
        if (call := _call.get()) is not None:
            usage, details = response.usage, response.usage.input_tokens_details
            read, written = (getattr(details, name, 0) or 0 for name in ("cached_tokens", "cache_write_tokens"))
            counts = (usage.input_tokens, usage.output_tokens, read, written)
            await asyncio.to_thread(self._messages.answered, call, lambda: reported_usage(*counts))
        _call.set(None)


class RedlineSession(SessionABC):
    """A session whose items are in a Redline log, and which tells a `RedlineFilter` whose history it is asked about.

    `store` is a folder or the address of a database, and may be that of the filter. For use by any number of threads and
    processes. What is taken back stays in the log; `redline.Store(store).delete(session.log_name)` deletes all for good.
    """

    def __init__(
        self,
        session_id: str,
        store: str | os.PathLike[str] | None = None,
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not isinstance(session_id, str) or not session_id:
            raise ValidationError(f"session_id must be a text that names the session, not {short_repr(session_id)}")
        self.session_id, self.session_settings = session_id, session_settings or SessionSettings()
        digest = hashlib.blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        self._items = ItemLog(store, f"session-{digest}", title=session_id, format="openai_responses")

    @property
    def log_name(self) -> str:
        """The name of its log in the store."""
        return self._items.name

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items; the last of them, if there is a limit."""
        _session.set(self.session_id)
        most = self.session_settings.limit if limit is None else limit
        items = await asyncio.to_thread(self._items.read)
        return items if most is None else items[max(len(items) - most, 0) :]

    async def add_items(self, items: list[Any]) -> None:
        """Store items after those that there are."""
        await asyncio.to_thread(self._items.add, [_mapping.read(item) for item in items])

    async def pop_item(self) -> Any | None:
        """Take back the last item and return it; None if there is none."""
        return await asyncio.to_thread(self._items.pop)

    async def clear_session(self) -> None:
        """Take back all items."""
        await asyncio.to_thread(self._items.clear)

    def close(self) -> None:
        """Let go of files and connections. What was added is stored already."""
        self._items.close()


def _settings_of(data: CallModelData[Any]) -> CallSettings:
    agent, model = data.agent, data.agent.model
    described = ("name", "description", "params_json_schema")
    tools = [[getattr(tool, name, None) for name in described] for tool in agent.tools]
    return CallSettings(
        model=model if isinstance(model, str) else str(getattr(model, "model", "")),
        preamble={"system": data.model_data.instructions, "tools": tools, "agent": agent.name},
        session=_session.get(),
    )
