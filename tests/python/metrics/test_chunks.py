import re

import pytest

import fluidcore as fluid
from fluidcore.metrics import ChunkCounts, chunks, count_chunks


def found(text, scheme):
    """The chunks of tags in a text, as "PER:0-2"."""
    return [f"{type}:{start}-{end}" for start, end, type in chunks(text.split(), scheme)]


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("IOB", "B-P I-P O B-L", ["P:0-2", "L:3-4"]),
        ("IOB", "B-P B-P I-P", ["P:0-1", "P:1-3"]),
        ("IOB", "O I-P I-P O", ["P:1-3"]),  # not allowed, and a chunk all the same
        ("IOB", "B-P I-L I-L", ["P:0-1", "L:1-3"]),
        ("IOE", "I-P E-P O E-L", ["P:0-2", "L:3-4"]),
        ("IOE", "E-P I-P E-P", ["P:0-1", "P:1-3"]),
        ("IOE", "I-P O I-P", ["P:0-1", "P:2-3"]),
        ("IOBES", "B-P I-P E-P S-P O S-L", ["P:0-3", "P:3-4", "L:5-6"]),
        ("IOBES", "B-P B-P E-P", ["P:0-1", "P:1-3"]),
        ("IOBES", "S-P I-P S-P", ["P:0-1", "P:1-2", "P:2-3"]),
        ("plain", "P P O L P", ["P:0-2", "L:3-4", "P:4-5"]),
        ("plain", "I-P I-P O", ["P:0-2"]),
        ("IOB", "O O", []),
        ("IOB", "", []),
    ],
)
def test_chunks_are_those_marked_by_hand(scheme, tags, expected):
    assert found(tags, scheme) == expected


NUMBERS = {
    "IOB": {"B-0": 0, "I-0": 1, "B-1": 2, "I-1": 3, "O": 4},
    "IOE": {"I-0": 0, "E-0": 1, "I-1": 2, "E-1": 3, "O": 4},
    "IOBES": {
        **{"B-0": 0, "I-0": 1, "E-0": 2, "S-0": 3},
        **{"B-1": 4, "I-1": 5, "E-1": 6, "S-1": 7, "O": 8},
    },
    "plain": {"I-0": 0, "I-1": 1, "O": 2},
}


@pytest.mark.parametrize("scheme", NUMBERS)
def test_numbers_are_the_tags_of_fluids_chunk_eval(scheme):
    numbers = NUMBERS[scheme]
    for a in numbers:
        for b in numbers:
            for c in numbers:
                named = chunks([a, b, c], scheme)
                coded = chunks([numbers[a], numbers[b], numbers[c]], scheme, 2)
                assert [(s, e, str(t)) for s, e, t in coded] == named


def spans(tags):
    """The chunks of allowed IOB tags, by a regular expression over their marks."""
    marks = "".join(tag[0] for tag in tags)
    return [(*match.span(), tags[match.start()][2:]) for match in re.finditer("BI*", marks)]


def test_every_allowed_sequence_of_iob_agrees_with_a_regular_expression():
    def allowed(length):
        if not length:
            yield []
            return
        for start in allowed(length - 1):
            last = start[-1] if start else "O"
            yield from ([*start, tag] for tag in ("B-0", "B-1", "O"))
            if last != "O":
                yield [*start, f"I{last[1:]}"]

    sequences = list(allowed(6))
    assert len(sequences) == 2131
    for tags in sequences:
        assert chunks(tags) == spans(tags)


def test_a_chunk_is_correct_where_start_end_and_type_are():
    inference = ["B-P", "I-P", "O", "B-L", "B-L", "O", "B-P"]
    label = ["B-P", "I-P", "O", "B-P", "B-L", "I-L", "B-P"]
    assert count_chunks(inference, label) == ChunkCounts(infer=4, label=4, correct=2)
    assert count_chunks(inference, label, excluded_chunk_types=["L"]) == (2, 3, 2)
    assert count_chunks(["O"], ["O"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("tags", "settings", "error", "message"),
    [
        (
            ["O"],
            {"scheme": "BIO"},
            fluid.InvalidArgument,
            "chunks: scheme must be one of plain, IOB, IOE, IOBES, got 'BIO'",
        ),
        (
            ["E-P"],
            {},
            fluid.InvalidArgument,
            "chunks: a tag of the scheme IOB must be one of 'B-...', 'I-...', 'O', got 'E-P'",
        ),
        (
            ["BI-P"],
            {},
            fluid.InvalidArgument,
            "chunks: a tag of the scheme IOB must be one of 'B-...', 'I-...', 'O', got 'BI-P'",
        ),
        (
            [5],
            {"num_chunk_types": 2},
            fluid.InvalidArgument,
            "chunks: a tag of 2 types in the scheme IOB must be in [0, 4], got 5",
        ),
        (
            [0],
            {},
            fluid.InvalidArgument,
            "chunks: num_chunk_types must be given where tags are numbers, got the tag 0",
        ),
        ([0.5], {}, TypeError, "chunks: a tag must be a whole number or a str, got 0.5"),
        ("O", {}, TypeError, "chunks: tags must be a list, got 'O'"),
    ],
)
def test_wrong_tags_are_errors(tags, settings, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        chunks(tags, **settings)


def test_sequences_of_two_lengths_are_an_error():
    message = "^count_chunks: inference and label must be equally long, got 1 and 2 tags$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        count_chunks(["O"], ["O", "O"])
