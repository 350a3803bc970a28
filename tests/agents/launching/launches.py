"""Agents started in a folder of the test's own, with a home in it."""

from redline.agents.launching import Launch

PROXY = "http://127.0.0.1:8484/s/project-1"


def launch(folder, *arguments, **environment):
    """A launch in the folder; its home is the folder `home` there."""
    return Launch(arguments, environment, folder / "home", folder)
