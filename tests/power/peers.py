"""Other checkers, each with the defaults it comes with, on the targets of this one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.target.target import Array, Doubles, Target
from fluidcore.gradcheck.verdict import Verdict

Checker = Callable[[Target, int], Verdict]


def checker(name: str) -> Checker:
    """A checker by name; see `NAMES`.

    Raises:
        core.NotFound: There is none of this name.
        ModuleNotFoundError: The framework is not installed.
    """
    make = _MAKERS.get(name)
    if make is None:
        raise core.NotFound(f"no checker is called '{name}'; there are: {', '.join(NAMES)}")
    return make()


def _fluidcore() -> Checker:
    from fluidcore.gradcheck.pipeline.run import run_check

    def check(target: Target, seed: int) -> Verdict:
        config = GradCheckConfig(seed=seed, localise=False, explain=False, workers=1)
        return run_check(target, config).verdict

    return check


def _native() -> Checker:
    from fluidcore.gradcheck.pipeline.run import run_check

    def check(target: Target, seed: int) -> Verdict:
        config = GradCheckConfig(seed=seed, localise=False, explain=False, workers=1, shadow="off")
        return run_check(target, config).verdict

    return check


def _differences(target: Target, delta: float) -> list[tuple[Doubles, Doubles]]:
    """(numerical, claimed) for each input, of the sum of all outputs, in the target's dtype."""
    xs = [x.value.copy() for x in target.inputs]
    ones = [np.ones_like(y) for y in target.forward(xs, target.dtype)]
    claimed = target.vjp(xs, ones, target.dtype)
    function = target.function(target.dtype)
    pairs = []
    for k, gradient in enumerate(claimed):
        numerical = core.difference(function, k, delta)
        pairs.append((numerical, np.asarray(gradient).astype(np.float64).ravel()))
    return pairs


def _tolerances(delta: float, right: Callable[[Doubles, Doubles], Any], target: Target) -> Verdict:
    try:
        pairs = _differences(target, delta)
    except core.InvalidArgument:  # the step is lost in rounding
        return Verdict.FAIL
    with np.errstate(all="ignore"):
        good = all(a.shape == b.shape and bool(np.all(right(a, b))) for a, b in pairs)
    return Verdict.PASS if good else Verdict.FAIL


def _seed_000() -> Checker:
    def right(numerical: Doubles, claimed: Doubles) -> Any:
        scale = np.abs(numerical)
        scale[scale < 1e-3] = 1
        return np.abs(numerical - claimed) / scale <= 0.005

    return lambda target, seed: _tolerances(0.005, right, target)


def _seed_004() -> Checker:
    def right(numerical: Doubles, claimed: Doubles) -> Any:
        error = np.abs(numerical - claimed)
        scale = np.maximum(np.maximum(np.abs(numerical), np.abs(claimed)), 1e-8)
        return (error / scale <= 1e-3) | (error <= 1e-5)

    return lambda target, seed: _tolerances(1e-4, right, target)


def _torch(fast: bool) -> Checker:
    torch: Any = importlib.import_module("torch")

    def to_torch(array: Array) -> Any:
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.astype(np.float32)).bfloat16()
        return torch.from_numpy(np.array(array))

    def to_numpy(tensor: Any, like: str) -> Array:
        whole = tensor.detach().float() if like == "bfloat16" else tensor.detach()
        return np.asarray(whole.numpy().astype(core_dtype(like)))

    def check(target: Target, seed: int) -> Verdict:
        dtype = target.dtype

        class Claimed(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, *xs: Any) -> Any:
                ctx.save_for_backward(*xs)
                return tuple(map(to_torch, target.forward([to_numpy(x, dtype) for x in xs], dtype)))

            @staticmethod
            def backward(ctx: Any, *vs: Any) -> Any:
                xs = [to_numpy(x, dtype) for x in ctx.saved_tensors]
                cotangents = [to_numpy(v, dtype) for v in vs]
                return tuple(map(to_torch, target.vjp(xs, cotangents, dtype)))

        torch.manual_seed(seed)
        inputs = tuple(to_torch(x.value).requires_grad_() for x in target.inputs)
        try:
            good = torch.autograd.gradcheck(Claimed.apply, inputs, fast_mode=fast)
        except Exception:  # its ways to say no: GradcheckError, RuntimeError for a dtype
            return Verdict.FAIL
        return Verdict.PASS if good else Verdict.FAIL

    return check


def core_dtype(name: str) -> Any:
    """The NumPy dtype of a name, bfloat16 too."""
    from fluidcore.base.dtypes import numpy_dtype

    return numpy_dtype(name)


def _jax() -> Checker:
    jax: Any = importlib.import_module("jax")
    check_vjp: Any = importlib.import_module("jax.test_util").check_vjp

    def check(target: Target, seed: int) -> Verdict:
        dtype = target.dtype

        def arrays(values: Sequence[Any]) -> list[Array]:
            return [np.asarray(value).astype(core_dtype(dtype)) for value in values]

        def f(*xs: Any) -> Any:
            return tuple(target.forward(arrays(xs), dtype))

        def f_vjp(*xs: Any) -> Any:
            points = arrays(xs)
            return f(*xs), lambda vs: tuple(target.vjp(points, arrays(vs), dtype))

        np.random.seed(seed)
        inputs = tuple(x.value for x in target.inputs)
        with jax.enable_x64(True), np.errstate(all="ignore"):
            try:
                check_vjp(f, f_vjp, inputs)
            except Exception:  # AssertionError, or a TypeError of its tree arithmetic
                return Verdict.FAIL
        return Verdict.PASS

    return check


_MAKERS: dict[str, Callable[[], Checker]] = {
    "fluidcore": _fluidcore,
    "fluidcore-native": _native,
    "torch": lambda: _torch(fast=False),
    "torch-fast": lambda: _torch(fast=True),
    "jax": _jax,
    "seed000": _seed_000,
    "seed004": _seed_004,
}
NAMES = tuple(_MAKERS)
