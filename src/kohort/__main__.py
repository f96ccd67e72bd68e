"""`python -m kohort` is the command line too."""

from kohort.cli.app import main

if __name__ == "__main__":  # processes that compile import this module, too
    main()
