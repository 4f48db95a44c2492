"""Fluid's early name of the module `memory`."""

from fluidcore.memory import memory_optimize, release_memory

__all__ = ["memory_optimize", "release_memory"]
