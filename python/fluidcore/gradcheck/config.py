"""How a gradient is checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fluidcore.base.checks import check_number, is_whole

PLAIN = (1e-4, 1e-3, 1e-5)  # step, relative and absolute tolerance of the plain comparison


@dataclass(frozen=True)
class GradCheckConfig:
    """Settings of a check. The defaults judge by error bars and suit every dtype.

    Giving any of `epsilon`, `relative_tolerance` and `absolute_tolerance` asks for the plain
    comparison: |analytical - numerical| within a relative or an absolute tolerance, at a fixed
    step. What is not given then has the value that `plain()` has.

    Attributes:
        epsilon: Step of the finite differences. None: steps are chosen by the error bars.
        relative_tolerance: Of the plain comparison.
        absolute_tolerance: Of the plain comparison; an element passes within either of them.
        use_central_difference: [f(x+ε) - f(x-ε)] / 2ε; else [f(x+ε) - f(x)] / ε.
        verbose: Whether a result keeps every element, not only the wrong ones.
        levels: Whether a result that passes has levels, for plots; the others have in any case.
        mode: "full" looks at every element, "coloured" at elements of different rows at once,
            "directional" at random directions; "auto" chooses by size.
        resolution: The relative error that a PASS must be able to see; None: by dtype.
        tolerance: A relative error that is right, beside the error bars: of a gradient that a
            solver calculates to that. A PASS then sees twice as much.
        n_full: The largest number of elements that "auto" checks one by one, unless a direction of
            larger inputs proves them.
        probes: Random directions of "directional".
        cotangents: Random cotangents of "full" and "coloured".
        subset: Check this many elements of each input, drawn at random; None: all.
        seed: Of everything random. The same seed gives the same report, bit for bit.
        shadow: "auto" judges formula and kernel apart where there is a float64 form; "off" judges
            the dtype under test alone.
        audits: Whether to make the checks that need no differences.
        second_order: Whether to check the gradient of the gradient.
        replicates: How often f runs at one point, to see whether it repeats itself.
        workers: Threads; 0: as many as the process may use.
        budget_s: Seconds after which what is undecided stays INCONCLUSIVE; None: no limit. A run of
            a program that is under way then ends between two operators.
        localise: Whether to look for the operator that is wrong in a program.
        explain: Whether to look for what is wrong with a gradient.
        allow_open: The part of a gradient, by absolute values, that may stay unproven in a PASS; it
            is named there. None: nothing of a formula in float64 or float32; half in 16 bits, and
            of a kernel that is compared with its formula.
        on_kink: "subgradient" accepts what lies between the one-sided derivatives, "fail" accepts
            no kink, "skip" leaves elements at a kink out.
        device: Where operators of fluidcore calculate the gradient, as far as they have kernels
            there: "cpu", "cuda" or "cuda:1". The function itself is differentiated on the CPU.
    """

    epsilon: float | None = None
    relative_tolerance: float | None = None
    absolute_tolerance: float | None = None
    use_central_difference: bool = True
    verbose: bool = False
    levels: bool = False
    mode: Literal["auto", "full", "coloured", "directional"] = "auto"
    resolution: float | None = None
    tolerance: float | None = None
    n_full: int = 2000
    probes: int = 4
    cotangents: int = 2
    subset: int | None = None
    seed: int = 0
    shadow: Literal["auto", "off"] = "auto"
    audits: bool = True
    second_order: bool = False
    replicates: int = 2
    workers: int = 0
    budget_s: float | None = None
    localise: bool = True
    explain: bool = True
    allow_open: float | None = None
    on_kink: Literal["subgradient", "fail", "skip"] = "subgradient"
    device: str = "cpu"

    def __post_init__(self) -> None:
        _check(self)

    @property
    def is_plain(self) -> bool:
        """Whether a step or a tolerance of the user's decides, not the error bars."""
        given = (self.epsilon, self.relative_tolerance, self.absolute_tolerance)
        return any(value is not None for value in given)

    @classmethod
    def plain(cls) -> GradCheckConfig:
        """ε 1e-4, tolerances 1e-3 relative, 1e-5 absolute."""
        return cls(*PLAIN)


_DEVICE = re.compile(r"cpu|cuda(:\d+)?")
_LEAST: Mapping[str, int] = {
    "n_full": 0,
    "probes": 1,
    "cotangents": 1,
    "subset": 1,
    "seed": 0,
    "replicates": 1,
    "workers": 0,
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "mode": ("auto", "full", "coloured", "directional"),
    "shadow": ("auto", "off"),
    "on_kink": ("subgradient", "fail", "skip"),
}


_FLAGS = (
    "use_central_difference",
    "verbose",
    "levels",
    "audits",
    "second_order",
    "localise",
    "explain",
)


def _number(config: GradCheckConfig, name: str) -> float | None:
    value = getattr(config, name)
    return None if value is None else check_number(f"GradCheckConfig: {name}", value, finite=False)


def _check(config: GradCheckConfig) -> None:
    for name in ("epsilon", "resolution", "tolerance", "budget_s"):
        value = _number(config, name)
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(f"GradCheckConfig: {name} must be positive, got {value}")
    share = _number(config, "allow_open")
    if share is not None and not 0 <= share <= 1:
        raise ValueError(f"GradCheckConfig: allow_open must be between 0 and 1, got {share}")
    for name in ("relative_tolerance", "absolute_tolerance"):
        value = _number(config, name)
        if value is not None and not 0 <= value < float("inf"):
            raise ValueError(f"GradCheckConfig: {name} must be 0 or more, got {value}")
    if config.tolerance is not None and config.is_plain:
        raise ValueError(
            f"GradCheckConfig: tolerance must be None beside a fixed step, got {config.tolerance}; "
            "give relative_tolerance"
        )
    for name in _FLAGS:
        value = getattr(config, name)
        if not isinstance(value, bool):
            raise TypeError(f"GradCheckConfig: {name} must be True or False, got {value!r}")
    for name, least in _LEAST.items():
        value = getattr(config, name)
        if value is None:
            continue
        if not is_whole(value):
            raise TypeError(f"GradCheckConfig: {name} must be an int, got {value!r}")
        if value < least:
            raise ValueError(f"GradCheckConfig: {name} must be at least {least}, got {value}")
    for name, choices in _CHOICES.items():
        value = getattr(config, name)
        if value not in choices:
            raise ValueError(f"GradCheckConfig: {name} must be one of {choices}, got {value!r}")
    if not isinstance(config.device, str):
        raise TypeError(f"GradCheckConfig: device must be a str, got {config.device!r}")
    if not _DEVICE.fullmatch(config.device):
        raise ValueError(
            "GradCheckConfig: device must be 'cpu', 'cuda' or 'cuda:' and a number, got "
            f"{config.device!r}"
        )
