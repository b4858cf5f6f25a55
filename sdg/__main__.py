"""`python -m sdg`: the `sdg` command."""

import sys

from sdg.experiments.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
