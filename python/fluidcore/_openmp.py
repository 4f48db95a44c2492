"""Loads the C++ core so that its idle threads sleep soon.

OpenMP's threads spin for milliseconds when they have nothing to do. On a machine that is busy with
something else, a spinning thread takes the core from the one that it waits for, and a run gets ten
to a hundred times slower. libgomp reads how long to spin from the environment, once, when it is
loaded; what the user has set stays in force.
"""

import os

_SPIN_COUNT = "3000"  # tens of microseconds: longer than the gap between two kernels

if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
    from fluidcore import _core
else:
    os.environ["GOMP_SPINCOUNT"] = _SPIN_COUNT
    try:
        from fluidcore import _core
    finally:
        del os.environ["GOMP_SPINCOUNT"]

__all__ = ["_core"]
