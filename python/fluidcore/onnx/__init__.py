"""ONNX: models of other frameworks as programs, and programs as models for other runtimes.

The package `onnx` is imported when it is first needed: `pip install 'fluidcore-dl[onnx]'`.

Example:
    from fluidcore import onnx

    model = onnx.load("resnet18.onnx")
    (scores,) = fluid.Executor().run(model.program, {model.feeds[0]: images}, model.fetches)
    onnx.save(model.program, model.feeds, model.fetches, "again.onnx")
"""

from fluidcore.onnx.reading import Model, Unsupported, load
from fluidcore.onnx.writing import save, to_model

__all__ = ["Model", "Unsupported", "load", "save", "to_model"]
