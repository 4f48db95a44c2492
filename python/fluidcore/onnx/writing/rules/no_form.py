"""The operators that cannot be written, and why."""

_ARRAY = "ONNX has no arrays of tensors that a loop writes to by index"
_ROWS = "it handles selected rows, which only training makes"
_MATRIX = "ONNX has no factors, inverses or solutions of matrices"
_DRAW = "ONNX draws no such random numbers"
_SAVED = "a program that is saved for inference does not hold it"

NO_FORM: dict[str, str] = {
    **dict.fromkeys(
        (
            "lod_array_length",
            "pop_from_array",
            "push_to_array",
            "read_from_array",
            "write_to_array",
        ),
        _ARRAY,
    ),
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
    **dict.fromkeys(("multinomial", "randperm", "truncated_gaussian_random"), _DRAW),
    "ctc_curvature": "only the gradient of a gradient of ctc_loss needs it",
    "ctc_loss": "ONNX has no loss of alignments",
    "grid_sample_adjoint": "only gradients of grid_sample need it",
}
