"""Inference of PyTorch's networks, exported as ONNX, in ONNX Runtime and OpenVINO."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import openvino
import torch

from bench import networks_with_torch
from bench.networks_with_torch import tensors
from bench.workloads import Workload, batch

VERSION = f"runtime {onnxruntime.__version__}, OpenVINO {openvino.get_version().partition('-')[0]}"


def set_threads(count: int) -> None:
    """Each session takes as many threads as the process is pinned to."""


class _Network(torch.nn.Module):
    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self._network = getattr(networks_with_torch, workload.network)
        self._tensors = {name: value.detach() for name, value in tensors(workload).items()}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._network(x, self._tensors, False)


def infer(workload: Workload, size: int, way: str) -> Callable[[], np.ndarray]:
    """A function that returns the logits of `size` examples, by `runtime` or `openvino`."""
    examples, _ = batch(workload, size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        torch.onnx.export(
            _Network(workload).eval(),
            (torch.from_numpy(examples),),
            path,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        return _session(path, examples) if way == "runtime" else _request(path, examples)


def _session(path: Path, examples: np.ndarray) -> Callable[[], np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (slot,) = session.get_inputs()
    return lambda: session.run(None, {slot.name: examples})[0]


def _request(path: Path, examples: np.ndarray) -> Callable[[], np.ndarray]:
    settings = {
        "INFERENCE_NUM_THREADS": len(os.sched_getaffinity(0)),
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()
    return lambda: request.infer([examples], share_inputs=True)[0]
