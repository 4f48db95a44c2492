"""Whether all ranks are about to run the same program."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from fluidcore import core
from fluidcore.program import Program
from fluidcore.program.collective import is_collective
from fluidcore.program.difference import differences

_LABEL = "the comparison of programs"


class Agreement:
    """Compares programs before their first run; those without collective operators are not.

    Args:
        communicator: The ranks.
    """

    def __init__(self, communicator: core.Communicator) -> None:
        self._communicator = communicator
        # By program: its revision, and what was fetched of it.
        self._made: WeakKeyDictionary[Program, tuple[int, set[tuple[str, ...]]]]
        self._made = WeakKeyDictionary()

    def check(self, program: Program, fetches: Sequence[str]) -> None:
        """Compares a program, and what is fetched, with those of the other ranks.

        Raises:
            core.InvalidArgument: They differ; on all ranks.
            core.RankFailed: A rank runs nothing.
        """
        revision = program.desc.revision()
        known, made = self._made.get(program, (revision, set()))
        if known != revision:
            made = set()
        if tuple(fetches) in made:
            return
        if any(is_collective(op.type) for block in program.blocks for op in block.ops):
            self._compare(program, fetches)
        made.add(tuple(fetches))
        self._made[program] = (revision, made)

    def _compare(self, program: Program, fetches: Sequence[str]) -> None:
        import hashlib  # only now: they take a part of the time that importing fluidcore takes
        import json

        _require_summed(program)
        text = program.serialize_to_string()
        both = json.dumps([text, list(fetches)])
        digest = hashlib.sha256(both.encode()).digest()
        words = [int.from_bytes(digest[i : i + 7], "little") for i in range(0, 28, 7)]
        digests = [tuple(row) for row in self._communicator.gather(words, _LABEL).tolist()]
        others = [rank for rank, each in enumerate(digests) if each != digests[0]]
        if others:
            first, second = (json.loads(each) for each in self._texts(both, (0, others[0])))
            found = differences(first[0], second[0])
            found += (
                [] if first[1] == second[1] else [f"fetches {second[1]} in place of {first[1]}"]
            )
            raise core.InvalidArgument(
                f"executor: all ranks must run the same program, got in rank "
                f"{', '.join(map(str, others))} another one than in rank 0, with "
                f"{'; '.join(found)}"
            )

    def _texts(self, own: str, ranks: Sequence[int]) -> list[str]:
        """What some ranks have for `own`."""
        coded = own.encode()
        sizes = self._communicator.gather([len(coded)], _LABEL)[:, 0]
        padded = list(coded.ljust(int(sizes.max())))
        gathered = self._communicator.gather(padded, _LABEL)
        return [bytes(gathered[rank, : sizes[rank]].tolist()).decode() for rank in ranks]


def _require_summed(program: Program) -> None:
    """Raises core.InvalidArgument where a parameter is updated by the gradient of one rank."""
    ops = [op for block in program.blocks for op in block.ops]
    summed = {
        name
        for op in ops
        if is_collective(op.type) and op.has_attr("params")
        for name in op.attr("params")
    }
    alone = [
        name
        for op in ops
        for name in (op.output("ParamOut") if "ParamOut" in op.output_names else ())
        if name not in summed
    ]
    if summed and alone:
        raise core.InvalidArgument(
            f"executor: a parameter of a data parallel program must be updated by the gradient of "
            f"all ranks, got that of one rank for {alone}, which data_parallel was not given; call "
            "it after all parameters are made"
        )
