"""The layers of Fluid that work on nested sequences, which this package does not have."""

from __future__ import annotations

_NAMES = frozenset(
    {
        *("beam_search", "beam_search_decode", "chunk_eval", "crf_decoding", "ctc_greedy_decoder"),
        *("DynamicRNN", "dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "edit_distance"),
        *("im2sequence", "linear_chain_crf", "lod_rank_table", "lod_reset"),
        *("lod_tensor_to_array", "array_to_lod_tensor", "max_sequence_len", "row_conv"),
        *("reorder_lod_tensor_by_rank", "sequence_concat", "sequence_conv", "sequence_expand"),
        *("sequence_first_step", "sequence_last_step", "sequence_pool", "sequence_reshape"),
        *("sequence_slice", "sequence_softmax", "shrink_memory", "warpctc"),
        "sequence_conv_pool",
    }
)
_INSTEAD = {
    **dict.fromkeys(("dynamic_lstm", "dynamic_lstmp"), "layers.lstm takes sequences of one length"),
    "dynamic_gru": "layers.gru takes sequences of one length",
    "DynamicRNN": "layers.StaticRNN and layers.rnn take sequences of one length",
    "warpctc": "layers.ctc_loss takes padded sequences and their lengths",
    "edit_distance": "metrics.edit_distance takes lists",
    "chunk_eval": "metrics.count_chunks takes lists",
}


def why_missing(name: str) -> str | None:
    """Why there is no layer or net of this name, and what to do; None if Fluid had none either."""
    if name not in _NAMES:
        return None
    padded = "pad sequences to one length, feed their lengths beside them and mask what is behind"
    return f"'{name}' works on nested sequences, which there are not; {_INSTEAD.get(name, padded)}"
