"""GradientChecker: gradients of functions, operators and programs against numerical ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.gradcheck.api import check
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.fixed_step.comparison import compare, tolerances
from fluidcore.gradcheck.pipeline.one_tensor_function import Function, OfFunction, like
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.target import Doubles, Target

if TYPE_CHECKING:
    from fluidcore.program import Program, Variable


class GradientChecker:
    """Checks gradients by one configuration.

    Of functions, operators and programs a report that is not PASS is raised, unless
    `raise_exception=False`; `check_gradient` and `check_tensor` return a result that has `passed`.

    Args:
        config: Settings; None for those that judge by error bars.
    """

    def __init__(self, config: GradCheckConfig | None = None) -> None:
        if not (config is None or isinstance(config, GradCheckConfig)):
            raise TypeError(f"config must be a GradCheckConfig, got {type(config).__name__}")
        self.config = config or GradCheckConfig()

    @classmethod
    def new(cls) -> GradientChecker:
        """A checker that judges by error bars."""
        return cls()

    @classmethod
    def with_config(cls, config: GradCheckConfig) -> GradientChecker:
        """A checker with other settings."""
        return cls(config)

    def compute_numerical_gradient(self, f: Function, input: Any, cotangent: Any = None) -> Any:
        """The gradient of ⟨cotangent, f⟩, by default of the sum of f, by finite differences.

        With a step (`epsilon`) or a tolerance in the settings it is [f(x+ε) - f(x-ε)] / 2ε, or
        [f(x+ε) - f(x)] / ε, for each element; else the steps are chosen by error bars. f is
        calculated in float64 where it can be, whatever the dtype of the input: in float16 a step
        of 1e-4 is lost in rounding.

        Args:
            f: From a tensor or array like `input` to a floating one.
            input: An eager Tensor, or an array, of any shape, floating; never changed.
            cotangent: Of the shape of f(input); None for ones, the sum of all elements.

        Returns:
            The gradient in float64, of the shape of the input; a Tensor for a Tensor.
        """
        of = OfFunction(f, input, "compute_numerical_gradient", cotangent)
        return like(input, self._numerical(of))

    def central_difference(
        self, f: Function, input: Any, index: int, cotangent: Any = None
    ) -> float:
        """[f(x+ε) - f(x-ε)] / 2ε for one element; arguments as of `compute_numerical_gradient`.

        Args:
            f: The function.
            input: The point.
            index: Of the element in the flattened input.
            cotangent: Of the shape of f(input); None for ones, the sum of all elements.
        """
        of = OfFunction(f, input, "central_difference", cotangent)
        return self._difference(of, index, forward=False)

    def forward_difference(
        self, f: Function, input: Any, index: int, cotangent: Any = None
    ) -> float:
        """[f(x+ε) - f(x)] / ε for one element; arguments as of `central_difference`."""
        of = OfFunction(f, input, "forward_difference", cotangent)
        return self._difference(of, index, forward=True)

    def check_gradient(
        self, f: Function, input: Any, analytical_grad: Any, name: str, cotangent: Any = None
    ) -> GradCheckResult:
        """Checks a gradient that was calculated somewhere against the numerical one of f.

        Args:
            f: From a tensor or array like `input` to a floating one.
            input: An eager Tensor, or an array, of any shape, floating; never changed.
            analytical_grad: The gradient of ⟨cotangent, f⟩, of the shape of the input. One whose
                dtype holds less than that of the input fails.
            name: Of the check, in the report.
            cotangent: Of the shape of f(input); None for ones, the sum of all elements.

        Raises:
            TypeError: f cannot be called, or does not return one tensor.
            core.InvalidArgument: A shape does not fit.
        """
        return self._check(OfFunction(f, input, name, cotangent), analytical_grad)

    def check_tensor(self, f: Function, tensor: Any, name: str) -> GradCheckResult:
        """Checks `tensor.grad` against the numerical gradient of the sum of all elements of f.

        Args:
            f: From a Tensor to a floating one.
            tensor: A leaf of fluidcore.eager, after `backward`.
            name: Of the check, in the report.
        """
        return self._check(OfFunction(f, tensor, name), tensor.grad)

    def check_op(
        self,
        op_type: str,
        inputs: Mapping[str, Any],
        attrs: Mapping[str, Any] | None = None,
        outputs: Sequence[str] | None = None,
        inputs_to_check: Sequence[str] | None = None,
        no_grad_set: Iterable[str] | None = None,
        *,
        raise_exception: bool = True,
    ) -> GradCheckReport:
        """Checks the gradient operators of an operator; arguments as of `operator_target`.

        Raises:
            GradientError: The verdict is not PASS, and `raise_exception` is left as it is.
        """
        from fluidcore.gradcheck.adapters.operator import operator_target

        __tracebackhide__ = True
        return self._run(
            operator_target(op_type, inputs, attrs, outputs, inputs_to_check, no_grad_set),
            raise_exception,
        )

    def check_program(
        self,
        program: Program,
        feed: Mapping[str, Any],
        loss: Variable | str,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
        scope: core.Scope | None = None,
        *,
        raise_exception: bool = True,
    ) -> GradCheckReport:
        """Checks every gradient of a program; arguments as of `program_target`.

        Raises:
            GradientError: The verdict is not PASS, and `raise_exception` is left as it is.
        """
        from fluidcore.gradcheck.adapters.program import program_target

        __tracebackhide__ = True
        target = program_target(program, feed, loss, parameter_list, no_grad_set, scope)
        return self._run(target, raise_exception)

    def check_callable(self, f: Callable[..., Any], *args: Any, **options: Any) -> GradCheckReport:
        """`fluidcore.gradcheck.check` with the settings of this checker."""
        __tracebackhide__ = True
        return check(f, *args, config=self.config, **options)

    def check_all_ops(
        self, types: Iterable[str] | None = None, per_op: int = 20
    ) -> list[GradCheckReport]:
        """Checks every operator that has a gradient at examples of its own; raises no report.

        Args:
            types: The operators; None for all.
            per_op: Examples for each operator and dtype.
        """
        from fluidcore.gradcheck.all_ops import check_all_ops

        return check_all_ops(self.config, types, per_op)

    def _run(self, target: Target, raise_exception: bool) -> GradCheckReport:
        __tracebackhide__ = True  # pytest then shows the user's line
        report = run_check(target, self.config)
        if raise_exception:
            report.assert_ok()
        return report

    def _check(self, of: OfFunction, gradient: Any) -> GradCheckResult:
        claimed = of.claimed(gradient)
        refusal = of.refusal(gradient)
        if refusal is not None:
            return refusal
        if not self.config.is_plain:
            return of.judge(claimed, self.config)
        result = compare(of.who, claimed, self._numerical(of), self.config)
        return replace(result, dtype=of.target.dtype, place=of.target.place)

    def _difference(self, of: OfFunction, index: int, *, forward: bool) -> float:
        if not (is_whole(index) and 0 <= index < of.value.size):
            raise core.InvalidArgument(
                f"{of.who}: index must be that of one of {of.value.size} elements, got {index!r}"
            )
        (found,) = core.difference(
            of.function(self.config),
            0,
            tolerances(self.config)[0],
            elements=np.array([index]),
            weights=flat([of.cotangent]),
            forward=forward,
        )
        return float(found)

    def _numerical(self, of: OfFunction) -> Doubles:
        function, weights = of.function(self.config), flat([of.cotangent])
        if not self.config.is_plain:
            value = core.differentiate(function, 0, [weights]).value[0]
        else:
            value = core.difference(
                function,
                0,
                tolerances(self.config)[0],
                weights=weights,
                forward=not self.config.use_central_difference,
            )
        return np.asarray(value, dtype=np.float64).reshape(of.value.shape)
