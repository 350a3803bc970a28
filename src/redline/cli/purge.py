"""`redline purge`: all that Redline stored on this computer, deleted for good after a question."""

import os
from pathlib import Path

import click

from redline.cli.loaded_session import EXIT_FOUND, EXIT_OK
from redline.cli.output import complain, counted, say
from redline.cli.setting_options import with_settings
from redline.policy.settings import user_file
from redline.store.purge import check_nothing_runs, delete_place, left_alone, stored_places


@click.command("purge")
@with_settings("proxy.store")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(store: str, dry_run: bool, yes: bool) -> int:
    """Delete everything that Redline stored on this computer: ~/.redline, its cache folder, the key of your proxy.

    Stores elsewhere, your settings and hooks in settings of agents are named and left; session files of agents are not
    Redline's. There is no way back. It refuses while a proxy runs.

    Exit code 0 if all of it is deleted, or there is nothing; 1 if you said no; 2 if something cannot be deleted.

    \b
    Examples:
      redline purge --dry-run
      redline purge --yes
    """
    places = list(stored_places())
    for place in places:
        say(f"{place.path}: {counted(place.files, 'file')}, {place.bytes:,} bytes ({place.holds})")
    for path, advice in left_alone(store, os.environ, user_file(Path.home(), os.environ)):
        say(f"not deleted: {path} ({advice})")
    if not places:
        say("There is nothing to delete.")
        return EXIT_OK
    if dry_run:
        say("Nothing was deleted: --dry-run.")
        return EXIT_OK
    check_nothing_runs()
    if not yes:
        try:
            is_agreed = click.confirm("Delete all of it for good?", err=True)
        except click.Abort:
            is_agreed = False
        if not is_agreed:
            complain("nothing was deleted")
            return EXIT_FOUND
    for place in places:
        delete_place(place)
    say(f"{counted(sum(place.files for place in places), 'file')} deleted")
    return EXIT_OK
