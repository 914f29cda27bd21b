"""``python -m gapsvm``: the command line, where its script is not on the path."""

from gapsvm.cli import main

if __name__ == "__main__":
    main()
