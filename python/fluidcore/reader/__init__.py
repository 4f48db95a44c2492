"""Readers as in Fluid: functions without arguments that return something to iterate over.

A decorator takes readers and returns one, which can be read any number of times, like
`batch(shuffle(train, 1000), 32)`. None of them reads anything before it is iterated over, but for
`cache`.
"""

from fluidcore.reader.combine import ComposeNotAligned, chain, compose, map_readers
from fluidcore.reader.select import batch, cache, firstn, shuffle
from fluidcore.reader.threaded import buffered, xmap_readers

__all__ = [
    "ComposeNotAligned",
    "batch",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "map_readers",
    "shuffle",
    "xmap_readers",
]
