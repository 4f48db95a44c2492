"""Chunks of sequences: the named parts that tags such as B-PER, I-PER, O mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fluidcore import core
from fluidcore.base.checks import check_list, check_name, check_whole, is_whole

# Scheme -> its tags, in the order of their numbers.
SCHEMES = {"plain": "I", "IOB": "BI", "IOE": "IE", "IOBES": "BIES"}
OUTSIDE = "O"


class Chunk(NamedTuple):
    """A named part of a sequence: its items in [start, end)."""

    start: int
    end: int
    type: int | str


class ChunkCounts(NamedTuple):
    """How many chunks were found, how many there are, and how many are in both."""

    infer: int
    label: int
    correct: int


class _Tag(NamedTuple):
    """One of B, I, E and S, and the type of the chunk; the tag O has none."""

    mark: str
    type: int | str | None


def chunks(
    tags: Sequence[int | str], scheme: str = "IOB", num_chunk_types: int | None = None
) -> list[Chunk]:
    """The chunks of one sequence.

    | scheme | tags | a chunk |
    | --- | --- | --- |
    | IOB | B, I, O | starts with B |
    | IOE | I, E, O | ends with E |
    | IOBES | B, I, E, S, O | B I ... E, or S alone |
    | plain | I, O | is as long as the type stays |

    Sequences that a scheme does not allow have chunks too, as those of `conlleval` (Tjong Kim Sang
    and Buchholz 2000) and Fluid's `chunk_eval`: a chunk also starts, and one ends, where the type
    changes or the tag O is.

    Args:
        tags: Texts, "B-PER" or "O", in the scheme plain also "PER"; or numbers,
            type * (tags of the scheme without O) + place of the tag in the table, and
            num_chunk_types * (tags of the scheme without O) for O.
        scheme: "IOB", "IOE", "IOBES" or "plain".
        num_chunk_types: How many types there are; needed for numbers.

    Raises:
        TypeError: An argument is of another type.
        core.InvalidArgument: A tag or the scheme is unknown.
    """
    if check_name("chunks: scheme", scheme) not in SCHEMES:
        raise core.InvalidArgument(
            f"chunks: scheme must be one of {', '.join(SCHEMES)}, got '{scheme}'"
        )
    if num_chunk_types is not None:
        check_whole("chunks: num_chunk_types", num_chunk_types, 1)
    given = check_list("chunks: tags", tags)
    return list(_chunks([_tag(tag, scheme, num_chunk_types) for tag in given]))


def count_chunks(
    inference: Sequence[int | str],
    label: Sequence[int | str],
    scheme: str = "IOB",
    num_chunk_types: int | None = None,
    excluded_chunk_types: Sequence[int | str] = (),
) -> ChunkCounts:
    """Counts the chunks of one sequence, as `ChunkEvaluator.update` takes them.

    Args:
        inference: The tags that were found; as of `chunks`.
        label: The right ones, as many.
        scheme: As of `chunks`.
        num_chunk_types: As of `chunks`.
        excluded_chunk_types: Types that do not count.

    Returns:
        A chunk is correct if start, end and type are right.

    Raises:
        TypeError: An argument is of another type.
        core.InvalidArgument: As chunks; or the sequences differ in length.
    """
    if len(inference) != len(label):
        raise core.InvalidArgument(
            "count_chunks: inference and label must be equally long, got "
            f"{len(inference)} and {len(label)} tags"
        )
    excluded = set(excluded_chunk_types)
    found, right = (
        {chunk for chunk in chunks(tags, scheme, num_chunk_types) if chunk.type not in excluded}
        for tags in (inference, label)
    )
    return ChunkCounts(len(found), len(right), len(found & right))


def _tag(tag: object, scheme: str, num_types: int | None) -> _Tag:
    if isinstance(tag, str):
        return _named_tag(tag, scheme)
    if not is_whole(tag):
        raise TypeError(f"chunks: a tag must be a whole number or a str, got {tag!r}")
    if num_types is None:
        raise core.InvalidArgument(
            f"chunks: num_chunk_types must be given where tags are numbers, got the tag {tag}"
        )
    marks = SCHEMES[scheme]
    outside = num_types * len(marks)
    if not 0 <= tag <= outside:
        raise core.InvalidArgument(
            f"chunks: a tag of {num_types} types in the scheme {scheme} must be in "
            f"[0, {outside}], got {tag}"
        )
    number, place = divmod(int(tag), len(marks))
    return _Tag(OUTSIDE, None) if tag == outside else _Tag(marks[place], number)


def _named_tag(tag: str, scheme: str) -> _Tag:
    if tag == OUTSIDE:
        return _Tag(OUTSIDE, None)
    mark, dash, name = tag.partition("-")
    if scheme == "plain" and not dash:
        return _Tag("I", tag)
    if mark not in [*SCHEMES[scheme]] or not name:
        wanted = ", ".join(f"'{mark}-...'" for mark in SCHEMES[scheme])
        raise core.InvalidArgument(
            f"chunks: a tag of the scheme {scheme} must be one of {wanted}, 'O', got '{tag}'"
        )
    return _Tag(mark, name)


def _chunks(tags: Sequence[_Tag]) -> Iterator[Chunk]:
    start, last = 0, _Tag(OUTSIDE, None)
    for place, tag in enumerate([*tags, _Tag(OUTSIDE, None)]):
        if _parts(last, tag):
            if last.type is not None:
                yield Chunk(start, place, last.type)
            start = place
        last = tag


def _parts(last: _Tag, tag: _Tag) -> bool:
    """Whether a tag is not in the chunk of the tag before it."""
    return last.type != tag.type or last.mark in ("E", "S") or tag.mark in ("B", "S")
