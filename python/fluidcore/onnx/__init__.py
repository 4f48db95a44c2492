"""ONNX: models of other frameworks as programs.

The package `onnx` is imported when it is first needed: `pip install 'fluidcore-dl[onnx]'`.
"""
