"""Files: models saved and loaded, program.json beside params.safetensors."""

from fluidcore.io.model import (
    PARAMS_FILE,
    PROGRAM_FILE,
    load_inference_model,
    load_params,
    load_persistables,
    save_inference_model,
    save_params,
    save_persistables,
)

__all__ = [
    "PARAMS_FILE",
    "PROGRAM_FILE",
    "load_inference_model",
    "load_params",
    "load_persistables",
    "save_inference_model",
    "save_params",
    "save_persistables",
]
