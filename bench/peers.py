"""The interpreters of the peers: virtual environments outside the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGES = {
    "torch": ["torch==2.13.0", "numpy"],
    "paddle": ["paddlepaddle==3.3.1", "numpy"],
    "jax": ["jax==0.10.2", "jaxlib==0.10.2", "numpy"],
    "onnx": [
        "torch==2.13.0",
        "onnx==1.23.2",
        "onnxscript==0.7.2",
        "onnxruntime==1.32.0",
        "openvino==2026.4.1",
        "numpy",
    ],
    "numdifftools": ["numdifftools", "numpy"],
}
TAKE_PART = {
    "training": ("torch",),
    "networks": ("torch", "jax", "onnx"),
    "scale": ("paddle", "jax"),
    "loops": (),
    "gradcheck": ("torch", "numdifftools"),
}
CACHE = Path.home() / ".cache" / "fluidcore-peers"


def interpreter(peer: str) -> Path:
    """The Python that has the peer; makes the environment if there is none (a long download)."""
    folder = CACHE / peer
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    print(f"bench: installing {' '.join(PACKAGES[peer])} into {folder}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES[peer]], check=True)
    (folder / "complete").touch()
    return python
