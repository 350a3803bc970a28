"""A list followed through the tree of its log: what is new of it is recorded where it goes on, or turns off."""

import dataclasses

from redline.conversation.resent.hidden import offer_of
from redline.conversation.resent.incoming import IncomingList
from redline.conversation.resent.open_histories import OpenHistories, OpenTree, place_to_go_on
from redline.conversation.resent.tree import KnownPath
from redline.record.records import ForkedFrom, HeadMoved, MessageAdded, Record, SessionNamed


def follow(
    histories: OpenHistories, way: OpenTree, given: IncomingList, now: float, *, offered: str, whole: ForkedFrom | None
) -> KnownPath:
    """The way of the list, made as far as it was not there.

    A history that begins is `offered` this tool for recall, if any is named; `whole` is the list that it is an outline of.
    """
    tree = way.tree
    spot = tree.find(given.digests, given.session)
    if spot.length == len(given.digests) and spot.is_own:
        moved = tree.move_to(spot)
        if not moved.undone and not moved.pins:
            return spot
        number = tree.append([HeadMoved((), moved.undone, moved.pins)], parent=spot.record)
        return dataclasses.replace(spot, record=number)
    spot = place_to_go_on(given, tree)
    fork = histories.fork_of(given) if spot.length == 0 else None
    if fork is not None:
        spot = histories.begin_as(way, *fork, given)
    records: list[Record] = []
    origin = histories.origin_of(given, way.name) if spot.length == 0 else None
    if origin is not None and whole is None:
        whole = ForkedFrom(histories.store.address_of(origin.name), "its client compacted the history")
    records += [whole] if whole is not None and spot.length == 0 else []
    if given.session != tree.session_at(spot.record):
        records.append(SessionNamed(given.session))
    if spot.length and (moved := tree.move_to(spot)) != HeadMoved():
        records.append(moved)
    histories.register_session(given, way.name, range(spot.length + 1, len(given.digests) + 1))
    before, last = set(given.digests[: spot.length]), len(given.digests) - 1
    for index in range(spot.length, len(given.digests)):
        digest, native = given.digests[index], given.stored[given.leading_system_messages + index]
        known = given.times[index] if given.times else None
        if known is None and digest not in before and not (index == last and given.format.invents_call_ids):
            # Without an id, the output of a command may say what one of long ago said; with one it was said then.
            others = [one.tree for one in (origin, fork and fork[0]) if one]
            known = next((one.first_seen[digest] for one in (tree, *others) if digest in one.first_seen), None)
        before.add(digest)
        records.append(MessageAdded(native, now if known is None else known, digest))
        way.size_bytes += len(native)
    records += offer_of(given, tree.tool_at(spot.record), offered)
    tree.append(records, parent=spot.record)
    if origin is not None:
        histories.evict(origin)
    return tree.find(given.digests, given.session)
