"""ONNX: models of other frameworks as programs, and programs as models for other runtimes.

The package `onnx` is imported when it is first needed: `pip install 'fluidcore-dl[onnx]'`.
"""

from fluidcore.onnx.writing import save

__all__ = ["save"]
