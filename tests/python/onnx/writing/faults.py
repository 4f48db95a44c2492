"""What the reference implementation of ONNX 1.23 and ONNX Runtime 1.32 cannot do, or do wrongly.

Each case of an operator that is named here gives what it should in the other one of the two.
"""

from __future__ import annotations

import re

# A pattern of cases -> what is wrong. Random numbers are not those of fluidcore, and have tests of
# their own.
_REFERENCE = {
    r"conv\dd_transpose .*groups=": "groups are reshaped to the shape of one",
    r"conv\dd_transpose Input\[0,": "no batch of nothing",
    r"(cumprod|linear_recurrence) .*reverse=True": "Scan runs forwards only",
    r"(cumprod|linear_recurrence) X\[(0,|\d,0)": "Scan makes at least one step",
    r"flatten X\[0,": "no matrix of nothing",
    r"grid_sample .*mode=bicubic padding_mode=border": "the border is not where it is",
    r"grid_sample X\[1,2,1,1\].*reflection align_corners=True": "a mirror of one element",
    r"grid_sample .*\[\d,?0,|grid_sample X\[0,": "nothing is no tuple",
    r"log_softmax .*spread": "is the logarithm of softmax, which is 0 there",
    r"lrn ": "counts channels in the batch",
    r"max_pool\dd_with_index ": "indices of other elements",
    r"multiplex Ids\[0": "no batch of nothing",
    r"pool[13]d .*pooling_type=max .*global_pooling=True": "images have two axes",
    r"softsign X\[\]": "a number is no array",
    r"take_along_axis X\[.,257\]": "numpy.choose has a limit",
}
_RANDOM = r"(bernoulli|multinomial|randint|randperm|uniform_random|gaussian_random)"
_ONNXRUNTIME = {
    r".* int16$": "has few operators of int16",
    r".*dtype=bfloat16": "gives no bfloat16 to NumPy",
}


def reference_fault(case: object) -> str | None:
    """Why a case is left out of what the reference implementation runs; None if it is not."""
    return _fault(_REFERENCE, case)


def onnxruntime_fault(case: object) -> str | None:
    """Why a case is left out of what ONNX Runtime runs; None if it is not."""
    return _fault(_ONNXRUNTIME, case)


def _fault(faults: dict[str, str], case: object) -> str | None:
    if re.match(_RANDOM, str(case)):
        return "random"
    return next((why for pattern, why in faults.items() if re.match(pattern, str(case))), None)
