"""python -m fluidcore."""

import sys

from fluidcore.cli import main

sys.exit(main())
