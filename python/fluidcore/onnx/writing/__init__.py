"""Programs written as ONNX models."""

from fluidcore.onnx.writing.model import save, to_model

__all__ = ["save", "to_model"]
