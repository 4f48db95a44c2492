"""Why layers of Fluid are not here: nested sequences, and what needs other machines or devices."""

from __future__ import annotations

_SEQUENCES = frozenset(
    {
        *("array_to_lod_tensor", "beam_search", "beam_search_decode", "chunk_eval", "crf_decoding"),
        *("ctc_greedy_decoder", "DynamicRNN", "dynamic_gru", "dynamic_lstm", "dynamic_lstmp"),
        *("edit_distance", "im2sequence", "linear_chain_crf", "lod_rank_table", "lod_reset"),
        *("lod_tensor_to_array", "max_sequence_len", "reorder_lod_tensor_by_rank", "row_conv"),
        *("sequence_concat", "sequence_conv", "sequence_conv_pool", "sequence_expand"),
        *("sequence_first_step", "sequence_last_step", "sequence_pool", "sequence_reshape"),
        *("sequence_slice", "sequence_softmax", "shrink_memory", "warpctc"),
    }
)
_PADDED = "pad sequences to one length, feed their lengths beside them and mask what is behind"
_INSTEAD = {
    **dict.fromkeys(("dynamic_lstm", "dynamic_lstmp"), "layers.lstm takes sequences of one length"),
    "dynamic_gru": "layers.gru takes sequences of one length",
    "DynamicRNN": "layers.StaticRNN and layers.rnn take sequences of one length",
    "warpctc": "layers.ctc_loss takes padded sequences and their lengths",
    "edit_distance": "metrics.edit_distance takes lists",
    "chunk_eval": "metrics.count_chunks takes lists",
}
_READERS = frozenset(
    {"batch", "double_buffer", "open_files", "open_recordio_file", "read_file", "shuffle"}
)
_DISTRIBUTED = frozenset({"BlockGuardServ", "ListenAndServ", "Recv", "Send"})


def why_missing(name: str) -> str | None:
    """Why there is no layer or net of this name, and what to do; None for any other name."""
    if name in _SEQUENCES:
        instead = _INSTEAD.get(name, _PADDED)
        return f"'{name}' works on nested sequences, which there are not; {instead}"
    if name in _READERS:
        return f"'{name}' reads data by an operator, which there is not; feed a fluid.DataLoader"
    if name in _DISTRIBUTED:
        return f"'{name}' is for several machines; a program here runs in one process"
    return None
