"""`redline gc`: blobs that no log refers to, listed, and removed if asked."""

import json
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import click

from redline.blobs.blobs import StoredBlob
from redline.blobs.collect import collect_garbage
from redline.blobs.opening import open_blobs
from redline.cli.output import show_rows
from redline.errors import LogError
from redline.log.durable import DurableLog
from redline.log.opening import list_conversations, open_log

__all__ = ["command"]

_MINUTE_MS = 60_000.0


@click.command("gc")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--blobs", "place", required=True, help="Where the blobs are: a directory, s3://bucket/prefix, gs://… or az://…")
@click.option("--delete", is_flag=True, help="Remove them. Without it they are only listed.")
@click.option(
    "--grace",
    "grace_minutes",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Minutes for which a blob is spared after it was stored; its record may still be on the way.",
)
@click.option("--json", "as_json", is_flag=True, help="One object a line, for programs.")
def command(logs: tuple[str, ...], place: str, delete: bool, grace_minutes: float, as_json: bool) -> None:
    """List blobs that none of the logs refers to, in any branch, and remove them with --delete.

    LOG is a file, or a database (sqlite:///chats.db, postgresql://…), of which all conversations count. Name every log that
    uses the blobs: what only another log refers to looks forgotten. If a log is damaged, nothing is removed.
    """
    before_ms = time.time() * 1000 - grace_minutes * _MINUTE_MS
    found = collect_garbage(open_blobs(place), _opened(logs), older_than_ms=before_ms, delete=delete)
    if as_json:
        for entry in found:
            click.echo(_as_json(entry, is_deleted=delete))
    else:
        _show(found, place, is_deleted=delete)


def _opened(addresses: Iterable[str]) -> Iterator[DurableLog]:
    """Each log for as long as it is looked at."""
    for one in [one for address in addresses for one in _expanded(address)]:
        log = open_log(one)
        try:
            yield log
        finally:
            log.close()


def _expanded(address: str) -> list[str]:
    """The address of each log. Where there is none, that is an error: all blobs would look forgotten."""
    if "://" not in address:
        if not Path(address).is_file():
            raise LogError(f"There is no log at {address}. Nothing was looked for; check the path.")
        return [address]
    database = address.partition("#")[0]
    found = [f"{database}#{quote(name)}" for name in list_conversations(database)]
    if not found:
        raise LogError(f"There is no conversation in {database}. Nothing was looked for; check the address.")
    return found


def _as_json(entry: StoredBlob, *, is_deleted: bool) -> str:
    fields = {"reference": entry.reference, "bytes": entry.size_bytes, "stored": _date(entry), "deleted": is_deleted}
    return json.dumps(fields)


def _show(found: list[StoredBlob], place: str, *, is_deleted: bool) -> None:
    if not found:
        click.echo(f"{place}: every blob is referred to, or too new to tell.")
        return
    show_rows(("reference", "bytes", "stored"), [(entry.reference, entry.size_bytes, _date(entry)) for entry in found])
    size_bytes = sum(entry.size_bytes for entry in found)
    what = "were deleted" if is_deleted else "are referred to by no log; --delete removes them"
    click.echo(f"{len(found):,} blobs ({size_bytes:,} bytes) {what}.")


def _date(entry: StoredBlob) -> str:
    return datetime.fromtimestamp(entry.put_ms / 1000, UTC).isoformat(timespec="seconds")
