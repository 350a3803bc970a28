"""Many conversations at one address: a folder, an SQLite database or a PostgreSQL database."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from redline.conversation.conversation import Conversation, now_ms
from redline.conversation.opening import open as open_conversation
from redline.conversation.resent.incoming import log_name
from redline.errors import RedlineError, ValidationError
from redline.record import codec
from redline.record.addresses import check_address, masked
from redline.record.backends import Address, FileBackend, parse_address
from redline.record.blobs.blobs import LastingBlobs
from redline.record.blobs.opening import open_blobs, references_in
from redline.record.blobs.whole_results import WholeResults
from redline.record.log import INDEX, ROOT
from redline.record.opening import LogStore
from redline.record.reading import StoredLog
from redline.record.records import Described, LogIndexed, MessageAdded, messages_in
from redline.sessions.catalog.catalog_row import CatalogCache
from redline.sessions.catalog.last_listing import forget_names
from redline.store.proxy_files import forget_in_accounts, whole_folders_in
from redline.store.search import SearchQuery, SearchResult, TextIndex
from redline.store.stored import StoredConversation, StoreStatistics, add_up, copy_session, describe, sessions_of
from redline.values.checks import check_count, check_text, short_repr


class Store:
    """The conversations of a folder, of `sqlite:///chats.db` or of `postgresql://user@host/database`.

    A folder holds a conversation in each `NAME.jsonl` that is a log of Redline's. `clock` gives the present time in
    milliseconds since 1970.
    """

    def __init__(self, address: str | os.PathLike[str], *, clock: Callable[[], float] = now_ms) -> None:
        check_address(address)  # to a LogStore, None is the memory
        self._logs = LogStore(address, durability="fsync")
        self._address, self._clock = os.fspath(address), clock

    @property
    def name(self) -> str:
        """The address, without a password."""
        return masked(self._address)

    def names(self) -> tuple[str, ...]:
        """The names of the conversations, in order; nothing is read for it."""
        return tuple(self._logs.names())

    def exists(self) -> bool:
        """Whether there is a folder or a database file; of a server that is not asked."""
        return self._logs.backend.exists(self._logs.place)

    def list(self, *, limit: int | None = None, after: str | None = None) -> tuple[StoredConversation, ...]:
        """The conversations, the one that was last gone on with first; one that cannot be read says why.

        With `limit`, at most so many; `after` is the name of the last one of the page before. Then only these are read, and of
        the others their last records, which say when they were gone on with. Without either, all of it is read.
        """
        if limit is None and after is None:
            return tuple(sorted((one for one, _ in self._conversations()), key=lambda one: (-(one.last_ms or 0.0), one.name)))
        names = _page(self._names_by_time(), after, limit)
        return tuple(self._described(name)[0] for name in names[:limit])

    def latest(self) -> str | None:
        """The name of the conversation that was last gone on with; None if there is none. A folder's are not read for it."""
        backend, place = self._logs.backend, self._logs.place
        if backend.is_database:
            return next((one.name for name in self._names_by_time() if not (one := self._described(name)[0]).problem), None)
        return max(self.names(), key=lambda name: (backend.stamp(place, name) or (0,))[-1], default=None)

    def address_of(self, name: str) -> str:
        """Where a conversation is, for `redline.open` and the command line."""
        if not isinstance(name, str) or name == INDEX:
            raise ValidationError(f"{short_repr(name)} cannot be the name of a conversation.")
        backend, place = self._logs.backend, self._logs.place
        if not backend.is_database and (not name or name.startswith(".") or set(name) & set("/\\\0")):
            raise ValidationError(f"{name!r} cannot be the name of a conversation in a folder. Use letters, digits and dashes.")
        return backend.address_of(place, name)

    def open(self, name: str, **settings: Any) -> Conversation:
        """The conversation of a name, which is made when something is first said; settings as for `redline.open`."""
        return open_conversation(self.address_of(name), **settings)

    def describe(
        self, name: str, *, title: str | None = None, user: str | None = None, tags: Iterable[str] | None = None
    ) -> StoredConversation:
        """Say of a conversation what `list` and `search` then know; what is None stays as it was, what is empty is taken away.

        It is a record of its log as any other, made at the present time, and goes with it. The conversation itself does not
        change, and may be open meanwhile.
        """
        if name not in self.names():
            raise ValidationError(f"There is no conversation {name!r} in {self.name}. It is made when something is said.")
        if isinstance(tags, str) or not isinstance(tags, Iterable | None):
            raise ValidationError(f"tags must be a list of texts, not {short_repr(tags)}. Nothing was changed.")
        # each tag once, in the order given
        kept = None if tags is None else tuple(dict.fromkeys(tag for one in tags if (tag := _text("A tag", one))))
        record = Described(self._clock(), _text("title", title), _text("user", user), kept)
        with self._logs.opened(name) as log:
            log.append([record], parent=ROOT)
        return describe(name, self._logs.size(name), self._logs.read(name))

    def delete(
        self, *names: str, session: str | None = None, blobs: LastingBlobs | str | os.PathLike[str] | None = None
    ) -> tuple[str, ...]:
        """Delete conversations for good: records in all branches, what crashes left of them, and what caches tell of them.

        With `session`, only what was sent under this name: other `sessions` of the same log go on in logs of their own.
        With `blobs`, or their address, what they alone of this store refer to is deleted there; the references are given back.
        Files with whole results, which the proxy writes for agents to read, are deleted with the last conversation that names
        them. A LogError while another process keeps one locked; who has one open can add nothing any more. What the files of a
        PostgreSQL server still hold, `vacuum` takes away.
        """
        there = self.names()
        if unknown := [name for name in names if name not in there]:
            raise ValidationError(f"There is no conversation {unknown[0]!r} in {self.name}. Nothing was deleted.")
        for name in names if session is not None else ():
            self._keep_other_sessions(name, check_text("session", session or ""))  # None was asked for above
        return self._delete(names, blobs) if names else ()

    def search(
        self,
        text: str = "",
        *,
        tool: str = "",
        path: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        min_messages: int = 0,
        min_bytes: int = 0,
        max_bytes: int | None = None,
        user: str = "",
        tag: str = "",
        problems: bool = False,
        limit: int | None = None,
        after: str | None = None,
    ) -> Iterator[SearchResult]:
        """The conversations that have all that is given, as they are found: a text whatever its case, a call of a tool.

        `path` is a file or folder that a call reads, writes, lists or searches: the whole path, its end, or a folder it is in.
        `since` and `until` are when something was said; `user` and `tag` as `describe` was told. With `problems`, only those
        whose visible messages a provider would refuse as they are. What cannot be read is among them, with its problem.
        With `limit`, at most so many results, in the order of names; `after` is the name of the last one of the page before.
        """
        times = (_ms(since), _ms(until))
        query = SearchQuery(text, tool, path, *times, min_messages, min_bytes, max_bytes, user, tag, problems)
        yield from islice(self._results(query, _page(self.names(), after, limit)), limit)

    def stats(self) -> StoreStatistics:
        """All conversations added up."""
        return add_up(one for one, _ in self._conversations())

    def prune(
        self,
        *,
        older_than: timedelta | None = None,
        keep_last: int | None = None,
        dry_run: bool = True,
        blobs: LastingBlobs | str | os.PathLike[str] | None = None,
    ) -> tuple[StoredConversation, ...]:
        """Delete, with `dry_run=False`, the conversations whose time is over, and say which; the oldest come last.

        `older_than`: nothing was said for so long. `keep_last`: it is none of so many that were last gone on with. With both it
        must be both. One whose messages have no times, or that cannot be read, is never among them.
        """
        if older_than is None and keep_last is None:
            raise ValidationError("prune() needs older_than=timedelta(days=…), keep_last=…, or both. Nothing was deleted.")
        if older_than is not None and not (isinstance(older_than, timedelta) and older_than >= timedelta()):
            raise ValidationError(
                f"older_than must be a timedelta of at least 0, not {short_repr(older_than)}. Nothing was deleted."
            )
        if keep_last is not None and not (type(keep_last) is int and keep_last >= 0):
            raise ValidationError(
                f"keep_last must be a whole number of at least 0, not {short_repr(keep_last)}. Nothing was deleted."
            )
        dated = [one for one in self.list() if one.last_ms is not None]
        until_ms = self._clock() - (older_than or timedelta()).total_seconds() * 1000
        over = tuple(one for one in dated[keep_last or 0 :] if one.last_ms is not None and one.last_ms < until_ms)
        if over and not dry_run:
            self._delete([one.name for one in over], blobs)
        return over

    def vacuum(self) -> None:
        """Have a database write its files anew, without what was deleted.

        `delete` does it for SQLite. PostgreSQL keeps everybody out meanwhile, so that you choose the time.
        """
        self._logs.backend.vacuum(self._logs.place)

    def close(self) -> None:
        """Let go of the connection; it is made again when it is needed."""
        self._logs.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- reading

    def _conversations(self) -> Iterator[tuple[StoredConversation, StoredLog | None]]:
        """Each with its records; without them if it cannot be read."""
        for name, size_bytes in self._logs.sizes().items():
            yield self._described(name, size_bytes)

    def _described(self, name: str, size_bytes: int | None = None) -> tuple[StoredConversation, StoredLog | None]:
        size_bytes = self._logs.size(name) if size_bytes is None else size_bytes
        try:
            read = self._logs.read(name)
            return describe(name, size_bytes, read), read
        except RedlineError as problem:
            return StoredConversation(name=name, bytes=size_bytes, problem=str(problem)), None

    def _results(self, query: SearchQuery, names: Iterable[str]) -> Iterator[SearchResult]:
        for conversation, read in map(self._described, names):
            if read is None:
                yield SearchResult(conversation=conversation)
            elif query.may_match(conversation) and (result := query.result(conversation, read)) is not None:
                yield result

    def _names_by_time(self) -> Sequence[str]:
        """The names by the time of the last messages, the latest first."""
        times = dict[str, float]()
        for name, lines in self._logs.last_lines():
            times[name] = 0.0  # where no message has a time
            for line in lines:
                with contextlib.suppress(RedlineError):
                    if (read := codec.decode(line)) is not None:
                        said = messages_in(read.stored.record)
                        times[name] = max(times[name], *(time_ms or 0.0 for _, time_ms in said), 0.0)
        return sorted(times, key=lambda name: (-times[name], name))

    # --- deleting

    def _delete(self, names: Sequence[str], blobs: LastingBlobs | str | os.PathLike[str] | None) -> tuple[str, ...]:
        """Delete conversations, and blobs that only they refer to; the references of those blobs are returned."""
        started_ms = now_ms()
        wholes = self._whole_results_of(names)
        kept_in = open_blobs(blobs) if isinstance(blobs, str | os.PathLike) else blobs
        forgotten = self._referred_to_only_by(names, kept_in) if kept_in is not None else set[str]()
        self._logs.delete(names)
        self._forget_in_caches(names)
        forget_in_accounts(self._address, names)
        # The records first: blobs without a record are found by `redline rm --unused`, a record without its blob is damaged.
        gone = tuple(one for one in sorted(forgotten) if kept_in is not None and kept_in.delete_older(one, than_ms=started_ms))
        for results, references in wholes:
            for reference in references:
                results.delete_older(reference, than_ms=started_ms)
        self._logs.backend.erase(self._logs.place)
        return gone

    def _keep_other_sessions(self, name: str, session: str) -> None:
        """Give each session of a log but one a log of its own, under the name that an Editor looks for."""
        records = self._logs.read(name).records
        sessions = sessions_of(records)
        if session not in sessions:
            there = ", ".join(map(repr, sessions)) or "none"
            raise ValidationError(f"There is no session {session!r} in {name}; there are: {there}. Nothing was deleted.")
        with self._logs.opened(INDEX) as index:
            entered = [one.record for one in index.read()]
        namespace = next((one.namespace for one in entered if isinstance(one, LogIndexed) and one.log == name), "")
        first = next(one.record.digest for one in records if isinstance(one.record, MessageAdded))
        for other in sessions:
            kept_in = log_name(namespace, [first], other) if other else f"{name}-rest"
            if other != session and kept_in not in self.names():  # it is there if this was tried before
                with self._logs.opened(kept_in) as log:
                    copy_session(records, other, log)

    def _referred_to_only_by(self, names: Sequence[str], blobs: LastingBlobs) -> set[str]:
        """The blobs that only these conversations name, of all in the store; an ExecutionError if one of those is damaged."""
        found = set[str]()
        known = set(blobs.list())
        for name in names:
            with self._logs.opened(name) as log:
                found |= references_in(log, known)
        for name in set(self.names()) - set(names):
            if found:
                with self._logs.opened(name) as log:
                    found -= references_in(log, found)
        return found

    def _whole_results_of(self, names: Sequence[str]) -> tuple[tuple[WholeResults, set[str]], ...]:
        """By folder, the files of whole results that only these conversations name. Each result is in its record, too, so that
        damage in a record is no reason to keep a file that no other is known to need."""
        found: dict[Path, set[str]] = {}
        for name in names:
            with contextlib.suppress(RedlineError):
                for results in whole_folders_in(self._address, self._logs.read(name).records):
                    known = self._references_in(name, set(results.list()))
                    found[results.path] = found.get(results.path, set()) | known
        for name in set(self.names()) - set(names) if any(found.values()) else ():
            named = self._references_in(name, set().union(*found.values()))
            found = {path: references - named for path, references in found.items()}
        return tuple((WholeResults(path), references) for path, references in found.items())

    def _references_in(self, name: str, known: set[str]) -> set[str]:
        """Those of the references that a conversation names, as far as it can be read."""
        backend, place = self._logs.backend, self._logs.place
        if isinstance(backend, FileBackend) and not backend.is_database:  # most name none, and reading them takes long
            with contextlib.suppress(OSError):
                stored = backend.path(place, name).read_bytes()
                known = {one for one in known if one.encode() in stored}
        with contextlib.suppress(RedlineError), self._logs.opened(name) as log:
            return references_in(log, known, takes_damaged=True) if known else set()
        return set()

    def _forget_in_caches(self, names: Sequence[str]) -> None:
        """The commands keep first words and names of sessions in the user's cache folder."""
        deleted = {_spelled_in_one_way(self.address_of(name)) for name in names}

        def is_deleted(place: str) -> bool:
            try:
                return _spelled_in_one_way(place) in deleted
            except RedlineError:
                return False

        cache = CatalogCache()
        cache.forget(is_deleted)
        cache.save()
        forget_names(is_deleted)
        with TextIndex() as index:
            index.forget(is_deleted)


def _page(names: Sequence[str], after: str | None, limit: int | None) -> Sequence[str]:
    """The names of the next page: all that follow the name `after`."""
    if limit is not None:
        check_count("limit", limit, least=1)
    if after is None:
        return names
    if check_text("after", after) not in names:
        raise ValidationError(
            f"after must be the name of a conversation of the store, not {after!r}: begin with the first page."
        )
    return names[names.index(after) + 1 :]


def _spelled_in_one_way(address: str) -> Address:
    backend, place, conversation = parse_address(address)
    return Address(backend, masked(backend.resolved(place)), conversation)


def _text(what: str, value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and value.isprintable() and len(value) <= _MOST_CHARACTERS):
        wanted = f"one line of text, of at most {_MOST_CHARACTERS} characters"
        raise ValidationError(f"{what} must be {wanted}, not {short_repr(value)}. Nothing was changed.")
    return value


_MOST_CHARACTERS = 1000


def _ms(time: datetime | None) -> float | None:
    if time is not None and not isinstance(time, datetime):
        raise ValidationError(f"since and until must be a datetime, not {short_repr(time)}.")
    return None if time is None else time.timestamp() * 1000
