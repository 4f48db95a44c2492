"""Functions of tensors as programs."""

from fluidcore.eager.tracing.trace import trace
from fluidcore.eager.tracing.traced import TracedProgram

__all__ = ["TracedProgram", "trace"]
