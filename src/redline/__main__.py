"""`python -m redline` is the `redline` command."""

from redline.cli import main

main()
