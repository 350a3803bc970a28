"""A call in, the body to send out: what transport and proxy share. What goes wrong in between costs the client nothing."""

import dataclasses
import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redline.errors import FormatError, LogError, RedlineError
from redline.formats.answers import Answer
from redline.observing import applied_if
from redline.values import payloads
from redline.wire import find_api
from redline.wire.body import Body
from redline.wire.sessions import namespace_of, session_of, signature_of, subscription_of
from redline.wire.side_calls import SideCalls

if TYPE_CHECKING:
    from redline.editor import EditedRequest, Editor
    from redline.policy import Policy

__all__ = ["CACHE_TOUCH", "NOT_EDITED", "REFUSALS", "Call", "Edited", "WireEditor", "wire_policy"]

_logger = logging.getLogger("redline.wire")
REFUSALS = (400, 413)
"""What providers answer to a body that they do not take."""
NOT_EDITED = "it could not be edited"
"""Why a call is untouched after a mistake of ours, or while the store cannot be used."""
CACHE_TOUCH = "/messages/cache_touch"
"""Where Claude Code asks Anthropic to keep a cache without sending what is in it again."""
_MOST_SESSIONS = 1_000
_RECORDED_S = 0.05
"""So long a call waits until the answer before it is recorded."""
_NAMESPACE_KEY = b"redline namespaces"
"""Keys are long and random, so that this much keeps their hashes apart from those of other programs."""


def wire_policy() -> "Policy":
    """The policy where nobody names one."""
    from redline.policy import Policy

    return Policy.careful()


@dataclass(frozen=True, slots=True)
class Call:
    """A request on its way to a provider."""

    method: str
    path: str
    """Without query, and without the label that it may begin with."""
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes
    """Not compressed."""
    label: str = ""
    session: str = ""
    """The name that the caller gives the history; empty where headers and body say it."""
    query: str = field(default="", repr=False)
    """As the client wrote it: for who pays, which it may say, and nothing else."""
    namespace: str = ""
    """Whose histories these are, where the caller says it; empty where label and credential do."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What to send for a call."""

    call: Call
    body: bytes
    """The call's own bytes, the very object, where nothing is changed."""
    request: "EditedRequest | None" = None
    """What the Editor made of it; None where it was not asked."""
    session: str = ""
    model: str = ""
    untouched: str = ""
    """Why nothing new was struck, or nothing was looked at; empty where it may have been."""
    read: Body | None = None
    failure: str = ""
    """What went wrong with the editing, if something did; then what was recorded before is sent, or the client's bytes."""
    is_store_down: bool = False
    """Whether that is the store's fault, not ours."""

    @property
    def is_changed(self) -> bool:
        """Whether something else than the client's bytes is sent."""
        return self.body is not self.call.body


class _UnreportedAnswers:
    """Histories whose last answer has been sent to the client and is not recorded yet. A record has requests and usage in the
    order in which they came, so that what a request cost is told of that request."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._changed = threading.Condition()

    def begin(self, history: tuple[str, str]) -> None:
        """An answer is to be recorded."""
        with self._changed:
            self._counts[history] += 1

    def end(self, history: tuple[str, str]) -> None:
        """An answer was recorded, or never will be."""
        with self._changed:
            if self._counts[history] <= 1:
                del self._counts[history]
                self._changed.notify_all()
            else:
                self._counts[history] -= 1

    def wait_for(self, history: tuple[str, str]) -> None:
        """Until all answers of a history are recorded; for a moment, since a store may hang."""
        with self._changed:
            if history in self._counts:
                self._changed.wait_for(lambda: history not in self._counts, timeout=_RECORDED_S)


class WireEditor:
    """Reads calls, asks the Editor, and puts what it says into the client's bytes; tells it what the provider answered.

    Calls that a subscription pays for are recorded and passed on as they are, unless `edits_subscriptions`; with `is_dry_run`
    all calls are. `key` is what hashes of credentials are keyed with.
    """

    def __init__(
        self,
        editor: "Editor",
        *,
        edits_subscriptions: bool = False,
        is_dry_run: bool = False,
        key: bytes = _NAMESPACE_KEY,
    ) -> None:
        self.editor = editor
        self._edits_subscriptions = edits_subscriptions
        self._is_dry_run = is_dry_run
        self._key = key
        self._side_calls = SideCalls()
        self._unreported = _UnreportedAnswers()
        self._last: OrderedDict[tuple[str, str], EditedRequest] = OrderedDict()
        """By namespace and session, what was last made: a client may ask to keep its cache without saying of what."""

    def edit(self, call: Call) -> Edited:
        """What to send. Nothing in a call makes it raise: on a mistake of ours it retreats."""
        try:
            return self._edit(call, only_recorded=False)
        except FormatError as problem:
            _logger.info("A request to %s is sent as it came: %s", call.path, problem)
            return Edited(call, call.body, untouched="a message in it is of no kind that is known")
        except Exception as problem:
            _log_failure("A request to %s could not be edited; what is recorded for it is kept", call, problem)
            is_store_down = isinstance(problem, LogError | OSError)
            failure = str(problem) if is_store_down else f"{type(problem).__name__}: {problem}"
            return dataclasses.replace(self.retreat(call), failure=failure, is_store_down=is_store_down)

    def retreat(self, call: Call) -> Edited:
        """The strikes that were sent before, without asking any rule; else the client's bytes."""
        try:
            return self._edit(call, only_recorded=True)
        except Exception as problem:
            _log_failure("A request to %s is sent as it came: what is recorded for it could not be read", call, problem)
        return Edited(call, call.body, untouched=NOT_EDITED)

    def refused(self, edited: Edited, status: int, answer: Answer | None = None) -> None:
        """The provider did not take a body that was changed: this history is left alone from now on. `answer` is what it said
        to the client's own body."""
        self._leave_alone(edited, status)
        self.answered(edited, answer)

    def _leave_alone(self, edited: Edited, status: int) -> None:
        if edited.request is None or not edited.is_changed or status not in REFUSALS:
            return
        try:
            self.editor.leave_alone(edited.request, f"the provider answered {status} to a body that was changed")
        except Exception as problem:
            _log_failure("It could not be recorded that the provider refused a changed body to %s", edited.call, problem)

    def withdraw(self, edited: Edited) -> None:
        """The body was not sent, because it came too late: what was struck for it is as if it had not been."""
        if edited.request is not None and edited.is_changed:
            try:
                self.editor.withdraw(edited.request)
            except Exception as problem:
                _log_failure("Strikes that were never sent to %s could not be withdrawn", edited.call, problem)

    def answering(self, edited: Edited) -> None:
        """The answer has come to its end, and `answered` or `refused` follows: the next call of the session waits for it."""
        self._unreported.begin(self._history_of(edited))

    def answered(self, edited: Edited, answer: Answer | None) -> None:
        """What the provider reported for the call."""
        try:
            self._report(edited, answer)
        finally:
            self._unreported.end(self._history_of(edited))

    def _report(self, edited: Edited, answer: Answer | None) -> None:
        if edited.request is None or answer is None or answer.usage is None:
            return
        try:
            with applied_if(edited.is_changed or not edited.request.is_changed):
                lifetime = edited.read.lifetime if edited.read is not None else ""
                self.editor.report(edited.request, answer.usage.written_for(lifetime))
        except Exception as problem:
            _log_failure("The usage of a request to %s could not be recorded", edited.call, problem)

    def _edit(self, call: Call, *, only_recorded: bool) -> Edited:
        """Read the call, ask the Editor, and splice."""
        api = find_api(call.method, call.path)
        if api is None:
            self._keep_warm(call)
            return Edited(call, call.body, untouched="no model is asked with a history here")
        if signed := signature_of(call.headers):
            return Edited(call, call.body, untouched=f"the client signed the body ({signed})")
        body = api.read(call.body, call.path)
        session = call.session or session_of(call.headers, body)
        if body.untouchable:
            return Edited(call, call.body, None, session, body.model, body.untouchable, body)
        observed, namespace = self._why_observed(call), self._namespace(call, body.account)
        side_call = self._side_calls.find(body, call.headers, session=session, namespace=namespace)
        if side_call is not None and not side_call.keeps_strikes:
            return Edited(call, call.body, None, session, body.model, side_call.reason, body)
        if not only_recorded:
            self._unreported.wait_for((namespace, session))
        if only_recorded or side_call is not None:
            request = self.editor.recorded(body.messages, format=body.format, session=session, namespace=namespace)
        else:
            with applied_if(not observed):
                request = self.editor.edit(
                    body.messages,
                    format=body.format,
                    session=session,
                    namespace=namespace,
                    model=body.model or None,
                    preamble=_preamble(call, body),
                    lifetime=body.lifetime,
                )
        if side_call is None:
            self._remember(self._namespace(call), session, request)
        reason = observed or (request.untouched if side_call is None else "")
        if not reason and request.is_changed and not body.is_utf8:
            reason = "its body is not UTF-8"
            self.editor.leave_alone(request, reason)
        noted = reason or (side_call.reason if side_call is not None else "")
        if reason or not request.is_changed:
            return Edited(call, call.body, request, session, body.model, noted, body)
        said = [one if type(one) is bytes else payloads.encoded(one) for one in request.said]
        spliced = body.splice(list(zip(request.positions, said, strict=True)))
        return Edited(call, call.body if spliced == call.body else spliced, request, session, body.model, noted, body)

    def _history_of(self, edited: Edited) -> tuple[str, str]:
        return self._namespace(edited.call, edited.read.account if edited.read is not None else ""), edited.session

    def _why_observed(self, call: Call) -> str:
        """Why the client's bytes are sent, whatever the Editor says; empty if they may be changed."""
        if self._is_dry_run:
            return "nothing is changed in a dry run"
        if not self._edits_subscriptions and (shown := subscription_of(call.headers)):
            return f"a subscription pays for it ({shown})"
        return ""

    def _namespace(self, call: Call, account: str = "") -> str:
        """What is only observed is apart from what is edited: strikes that were never sent must not count there."""
        namespace = call.namespace or namespace_of(call.headers, call.label, self._key, query=call.query, account=account)
        return f"observed {namespace}" if self._why_observed(call) else namespace

    def _remember(self, namespace: str, session: str, request: "EditedRequest") -> None:
        from redline.editor import EditedRequest

        self._last[namespace, session] = request.without_content() if isinstance(request, EditedRequest) else request
        self._last.move_to_end((namespace, session))
        while len(self._last) > _MOST_SESSIONS:
            self._last.popitem(last=False)

    def _keep_warm(self, call: Call) -> None:
        """Claude Code asks Anthropic to keep what a session's last request left in the cache, without sending it again."""
        if call.method == "POST" and call.path.endswith(CACHE_TOUCH):
            named = session_of(call.headers, Body(call.body, "anthropic"))
            request = self._last.get((self._namespace(call), call.session or named))
            if request is not None:
                self.editor.keep_warm(request)


def _log_failure(said: str, call: Call, problem: Exception) -> None:
    """A store that cannot be used says itself what is wrong; of a mistake of ours one must know where it was made."""
    is_told = isinstance(problem, RedlineError | OSError)
    _logger.error(f"{said}: %s", call.path, problem, exc_info=None if is_told else problem)


def _preamble(call: Call, body: Body) -> object:
    """What changes the cache key, with the betas that the headers ask for."""
    betas = call.headers.get("anthropic-beta")
    if not betas or not isinstance(body.preamble, dict):
        return body.preamble
    return {**body.preamble, "betas": sorted(name.strip() for name in betas.split(","))}
