"""`python -m kohort` is the command line too."""

from kohort.cli.app import main

main()
