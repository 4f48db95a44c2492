"""References with channels last, made of those with channels first."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from op_data import Doubles

Reference = Callable[..., dict[str, Doubles]]
LAST = ("NLC", "NHWC", "NDHWC")


def with_data_format(images: Sequence[str]) -> Callable[[Reference], Reference]:
    """Decorates a reference: with such a data_format, `images` and results have channels last."""

    def decorate(reference: Reference) -> Reference:
        @functools.wraps(reference)
        def either(data_format: str = "AnyLayout", **arguments: Any) -> dict[str, Doubles]:
            if data_format not in LAST:
                return reference(**arguments)
            first = {name: np.moveaxis(arguments[name], -1, 1) for name in images}
            results = reference(**(arguments | first))
            return {name: np.moveaxis(value, 1, -1) for name, value in results.items()}

        return either

    return decorate
