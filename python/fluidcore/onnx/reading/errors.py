"""What a model is refused with."""

from fluidcore import core


class Unsupported(core.InvalidArgument):
    """An ONNX model is damaged, or has something that fluidcore cannot express.

    The message names the file, the node, its operator and opset, and what is missing.
    """


class KnownTooLate(Unsupported):
    """A value that must be known while the model is read is known only at run time.

    Args:
        message: What is wrong.
        name: Of the ONNX value.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name
