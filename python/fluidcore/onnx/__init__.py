"""ONNX: models of other frameworks as programs.

The package `onnx` is imported when it is first needed: `pip install 'fluidcore-dl[onnx]'`.

Example:
    from fluidcore import onnx

    model = onnx.load("resnet18.onnx")
    (scores,) = fluid.Executor().run(model.program, {model.feeds[0]: images}, model.fetches)
"""

from fluidcore.onnx.reading import Model, Unsupported, load

__all__ = ["Model", "Unsupported", "load"]
