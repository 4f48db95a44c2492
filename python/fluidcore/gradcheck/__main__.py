"""python -m fluidcore.gradcheck."""

import sys

from fluidcore.gradcheck.cli.command import main

sys.exit(main(prog="python -m fluidcore.gradcheck"))
