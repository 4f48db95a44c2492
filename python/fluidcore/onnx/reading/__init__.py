"""ONNX models as programs."""

from fluidcore.onnx.reading.errors import Unsupported
from fluidcore.onnx.reading.model import Model, load

__all__ = ["Model", "Unsupported", "load"]
