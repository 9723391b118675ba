"""`python -m sapwood`: the command line."""

import sys

from sapwood.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
