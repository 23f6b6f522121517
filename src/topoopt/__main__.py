"""``python -m topoopt`` is the command ``topoopt``."""

import sys

from topoopt.frontends.cli import main

if __name__ == "__main__":  # worker processes import this file too
    sys.exit(main())
