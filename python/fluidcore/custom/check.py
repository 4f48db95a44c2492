"""The gradient checks of operators that are being added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore import core

_SHAPE = (3, 4)


def check_definition(type: str, inputs: Sequence[str], examples: Mapping[str, Any]) -> None:
    """Checks the gradient at examples of the inputs, shapes or arrays.

    Raises:
        GradientError: It is wrong, or cannot be judged.
        core.NotFound: An example is of no input.
    """
    # The checker is a library of its own, which most processes never ask for.
    from fluidcore.gradcheck import GradientChecker

    for name in examples:
        if name not in inputs:
            raise core.NotFound(
                f"custom_op: {type}: examples must be of {', '.join(inputs)}, got '{name}'"
            )
    rng = np.random.default_rng(0)
    values: dict[str, np.ndarray[Any, Any]] = {}
    for name in inputs:
        example = examples.get(name, _SHAPE)
        is_shape = isinstance(example, tuple)
        values[name] = rng.uniform(0.5, 1.5, example) if is_shape else np.asarray(example)
    GradientChecker().check_op(type, values)


def check_examples(types: Sequence[str]) -> None:
    """Checks the gradients of operators at examples of their own, of several shapes.

    Raises:
        GradientError: One is wrong, or cannot be judged.
    """
    from fluidcore.gradcheck import GradientChecker, cases

    checked = [type for type in types if cases.has_case(type)]
    for report in GradientChecker().check_all_ops(checked, per_op=3):
        report.assert_ok()
