"""Files: models saved and loaded, program.json beside params.safetensors."""

from fluidcore.io.file_names import PARAMS_FILE, PROGRAM_FILE
from fluidcore.io.model import load_inference_model, save_inference_model
from fluidcore.io.pruning import get_inference_program
from fluidcore.io.training import load_training_model, save_training_model
from fluidcore.io.variables import (
    get_parameter_value,
    get_parameter_value_by_name,
    is_parameter,
    is_persistable,
    load_params,
    load_persistables,
    load_vars,
    save_params,
    save_persistables,
    save_vars,
)

__all__ = [
    "PARAMS_FILE",
    "PROGRAM_FILE",
    "get_inference_program",
    "get_parameter_value",
    "get_parameter_value_by_name",
    "is_parameter",
    "is_persistable",
    "load_inference_model",
    "load_params",
    "load_persistables",
    "load_training_model",
    "load_vars",
    "save_inference_model",
    "save_params",
    "save_persistables",
    "save_training_model",
    "save_vars",
]
