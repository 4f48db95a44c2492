"""What takes the time of a run, operator by operator.

Example:
    with fluid.profiler.profile("trace.json") as p:
        exe.run(program, feed=feed, fetch_list=[loss])
    print(p)
"""

from fluidcore.profiler.fluid import (
    cuda_profiler,
    profiler,
    reset_profiler,
    start_profiler,
    stop_profiler,
)
from fluidcore.profiler.profile import OperatorTime, Profile, profile

__all__ = [
    "OperatorTime",
    "Profile",
    "cuda_profiler",
    "profile",
    "profiler",
    "reset_profiler",
    "start_profiler",
    "stop_profiler",
]
