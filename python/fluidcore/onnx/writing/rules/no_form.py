"""The operators that cannot be written, and why."""

_ROWS = "it handles selected rows, which only training makes"
_MATRIX = "ONNX has no factors, inverses or solutions of matrices"
_HISTORY = "it keeps what gradients of loops read"

NO_FORM: dict[str, str] = {
    **dict.fromkeys(("pop_from_array", "push_to_array"), _HISTORY),
    **dict.fromkeys(
        (
            "get_tensor_from_selected_rows",
            "join_selected_rows",
            "lookup_selected_rows",
            "merge_selected_rows",
            "pack_selected_rows",
            "push_selected_rows",
            "selected_rows_to_dense",
        ),
        _ROWS,
    ),
    **dict.fromkeys(("cholesky", "inverse", "slogdet", "triangular_solve"), _MATRIX),
    "truncated_gaussian_random": "ONNX draws no random numbers again",
    "ctc_curvature": "only the gradient of a gradient of ctc_loss needs it",
    "ctc_loss": "ONNX has no loss of alignments",
    "grid_sample_adjoint": "only gradients of grid_sample need it",
}
