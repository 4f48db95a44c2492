"""Traces in the format of chrome://tracing, which Perfetto reads too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

# Operator, thread, begin, duration, inside, bytes, flops; times in nanoseconds.
Event: TypeAlias = tuple[int, int, int, int, int, int, int]
# Label, begin, duration.
Communication: TypeAlias = tuple[str, int, int]


def write(
    path: str | os.PathLike[str],
    operators: Sequence[tuple[str, str]],
    events: Sequence[Event],
    communications: Sequence[Communication],
) -> None:
    """Writes the events, one lane for each thread; a file that is there stays until all is done.

    Communications, which run beside threads and each other, have lanes of their own.

    Args:
        path: Of the file.
        operators: Type and note of each.
        events: What ran.
        communications: With other processes.
    """
    import json  # only now: it takes a part of the time that importing fluidcore takes

    process = os.getpid()
    rows: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": process,
            "tid": thread,
            "args": {"name": f"thread {thread}"},
        }
        for thread in sorted({event[1] for event in events})
    ]
    for op, thread, begin, duration, _, count, flops in events:
        op_type, note = operators[op]
        rows.append(
            {
                "ph": "X",
                "name": op_type,
                "pid": process,
                "tid": thread,
                "ts": begin / 1e3,
                "dur": duration / 1e3,
                "args": {"operator": note, "bytes": count} | ({"flops": flops} if flops else {}),
            }
        )
    for number, (label, begin, duration) in enumerate(communications):
        for phase, moment in (("b", begin), ("e", begin + duration)):
            rows.append(
                {
                    "ph": phase,
                    "cat": "communication",
                    "id": number,
                    "name": label,
                    "pid": process,
                    "ts": moment / 1e3,
                }
            )
    new = f"{os.fspath(path)}.new"
    with open(new, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": rows, "displayTimeUnit": "ns"}, file)
    os.replace(new, path)
