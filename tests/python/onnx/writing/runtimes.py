"""Models run by others: the reference implementation of ONNX, and ONNX Runtime."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

Array = NDArray[Any]


def checked(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, which the checker of ONNX takes, its shapes and dtypes included."""
    onnx.checker.check_model(model, full_check=True)
    return model


def by_reference(model: onnx.ModelProto, feed: Mapping[str, Array]) -> list[Array]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, dict(feed))]


def by_onnxruntime(model: onnx.ModelProto, feed: Mapping[str, Array]) -> list[Array]:
    """Skips the test where it is not installed."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found: list[Array] = session.run(None, dict(feed))
    return found


RUNTIMES = {"reference": by_reference, "onnxruntime": by_onnxruntime}
every_runtime = pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=RUNTIMES)
