"""A program of fluidcore, nested blocks included, as a Target."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.backward import gradients
from fluidcore.base.dtypes import FLOATING
from fluidcore.executor import global_scope
from fluidcore.executor.feeding import as_declared
from fluidcore.gradcheck.adapters.network_target import COTANGENT, NetworkTarget, checked_gradient
from fluidcore.gradcheck.program.appended_ops import (
    first_gradient_op,
    gradients_written,
    remove_optimizers,
)
from fluidcore.gradcheck.program.error_clips import bypass_clips, clipped_elements
from fluidcore.gradcheck.program.frozen_variables import frozen_variables
from fluidcore.gradcheck.program.gradient_gaps import Gap, gradient_gaps
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.replayed_values import REPLAYED, replay_frozen
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Array, Input
from fluidcore.gradcheck.verdict import Reason, Verdict
from fluidcore.program import Program, Variable
from fluidcore.program.arguments import variable_names

_NAMED = 8  # variables in a sentence

Name: TypeAlias = "Variable | str"
ParamsGrads: TypeAlias = "Sequence[tuple[Name, Name | None]]"


class ProgramTarget(NetworkTarget):
    """Results of a program, and its gradient operators.

    Attributes:
        original: The program, which is not to be changed.
        program: A copy without the operators of optimizers.
        outputs: Names of what is differentiated.
        names: Names of what is differentiated by.
        gradient_names: Those of the gradients that the program calculates; None where they are
            appended for the check.
        values: What is fed, and the values of variables that gradients do not pass.
        scope: Where the other values are.
        constants: Names of variables that gradients do not pass.
        left_out: Why some variables are not differentiated by, in words.
        gaps: Variables whose values reach the loss through a slot without gradient.
    """

    _copies = True  # a planted error must stay what it is; and variables keep their settings

    def __init__(
        self,
        original: Program,
        program: Program,
        values: Mapping[str, Any],
        inputs: Sequence[Input],
        outputs: Sequence[str],
        gradient_names: Sequence[str] | None,
        constants: Iterable[str],
        scope: core.Scope,
        left_out: Sequence[str] = (),
        gaps: Mapping[str, Gap] = MappingProxyType({}),
    ) -> None:
        names = [item.name for item in inputs]
        super().__init__("program", program, values, inputs, names, outputs, set(constants), scope)
        self.original = original
        self.program = program
        self.outputs = self._outputs
        self.names = self._names
        self.gradient_names = None if gradient_names is None else list(gradient_names)
        self.values: Mapping[str, Any] = self._values
        self.constants = self._constants
        self.scope = scope
        self.fixed_cotangent = gradient_names is not None
        self.left_out = tuple(left_out)
        self.gaps = dict(gaps)

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        """What the gradient operators calculate; error clips that are in their place do nothing."""
        if self.gradient_names is None:
            return super().vjp(xs, vs, dtype)
        network, grads = self._backward[dtype]
        return self._rounded(network.run_at(self._by_name(xs), grads), dtype)

    def append_gradients(self, program: Program) -> list[str]:
        """Appends what `vjp` runs to a copy of `program`; returns the names of the gradients."""
        block = program.global_block()
        cotangents = []
        for name in self.outputs:
            like = block.var(name)
            cotangents.append(
                block.create_var(name + COTANGENT, shape=like.shape, dtype=like.dtype)
            )
        found = gradients(
            [block.var(name) for name in self.outputs],
            [block.var(name) for name in self.names],
            cotangents,
            no_grad_set=self.constants,
        )
        return [
            checked_gradient(self.who, name, None if grad is None else grad.name)
            for name, grad in zip(self.names, found, strict=True)
        ]

    def recorded_cotangents(self) -> list[Array]:
        """What localisation gives `vjp`: 1, or random numbers."""
        if self.fixed_cotangent:
            return [np.ones(1)]
        values = self._forward[self.dtype].run(self.outputs)
        return [
            stream(0, name, "localise cotangent").standard_normal(value.shape).astype(value.dtype)
            for name, value in zip(self.outputs, values, strict=True)
        ]

    def recorded_values(self) -> dict[str, Array]:
        """What is fed when the backward program runs for localisation."""
        values = dict(self.values)
        if self.gradient_names is not None:  # the original runs, which reads none of these
            values = {n: value for n, value in values.items() if not n.startswith(REPLAYED)}
        if not self.fixed_cotangent:
            names = (name + COTANGENT for name in self.outputs)
            values |= zip(names, self.recorded_cotangents(), strict=True)
        return values

    def gradient_of(self, name: str) -> str:
        """The name of the gradient of a variable in the backward program."""
        if self.gradient_names is not None and name in self.names:
            return self.gradient_names[self.names.index(name)]
        return core.grad_var_name(name)

    def own_audits(self) -> list[Audit]:
        """The gradients that are missing, and how much the error clips clip at this point."""
        return [*map(_missing, self.gaps, self.gaps.values()), *self._audits_of_clips()]

    def _audits_of_clips(self) -> list[Audit]:
        if self.gradient_names is None:
            return []
        network = self.network(self.dtype, self.gradient_names)
        count = sum(clipped_elements(network).values())
        if count == 0:
            return []
        detail = f"clipped: {count} elements; the gradient is checked without the error clips"
        return [Audit("error clips", Verdict.PASS, None, detail)]

    def own_notes(self) -> list[str]:
        """Which parameters are not checked."""
        return list(self.left_out)

    def _make_backward(self, dtype: str) -> tuple[Network, list[str]]:
        if self.gradient_names is None:
            return super()._make_backward(dtype)
        network = self.network(dtype, self.gradient_names)
        bypass_clips(network.program)
        return network, self.gradient_names


def program_target(
    program: Program,
    feed: Mapping[str, Any],
    loss: Name | Sequence[Name],
    parameter_list: Iterable[Name] | None = None,
    no_grad_set: Iterable[Name] | None = None,
    scope: core.Scope | None = None,
    params_grads: ParamsGrads | None = None,
) -> ProgramTarget:
    """A program and its gradient operators.

    If the program has operators that calculate gradients of the loss, x@GRAD, these are checked as
    they are. Else they are appended to a copy. Operators of optimizers are left out.

    Args:
        program: Never changed.
        feed: Name -> array, or what else a run converts.
        loss: What is differentiated; several variables, of any shape, if the program has no
            gradient operators.
        parameter_list: What is differentiated by; None for all trainable parameters, and data that
            does not stop gradients, as far as they have a gradient.
        no_grad_set: Variables that are constants.
        scope: Holds the parameters; None for the global scope.
        params_grads: What append_backward returned; says which gradients are checked.

    Raises:
        core.InvalidArgument: A gradient or a value is missing.
        core.NotFound: A variable is unknown.
    """
    if not isinstance(program, Program):
        raise TypeError(f"program_target: program must be a Program, got {type(program).__name__}")
    if not isinstance(feed, Mapping):
        raise TypeError(f"program_target: feed must map names to arrays, got {feed!r}")
    scope = global_scope() if scope is None else scope
    if not isinstance(loss, (Variable, str, list, tuple)):
        raise TypeError(
            "program_target: loss must be a Variable, a name, or a list of them, got "
            f"{type(loss).__name__}"
        )
    outputs = _names("loss", [loss] if isinstance(loss, (Variable, str)) else loss, program)
    stopped = set(_names("no_grad_set", no_grad_set or (), program))
    own = program.clone()
    remove_optimizers(own.desc)
    block = own.global_block()
    chosen = None if parameter_list is None else _names("parameter_list", parameter_list, program)
    for name in (*outputs, *stopped, *(chosen or ())):
        block.var_recursive(name)
    found = _gradient_names(own, outputs, chosen, params_grads)
    wanted = _sources(own) if chosen is None else chosen
    wanted = [name for name in wanted if name not in stopped]
    gaps = gradient_gaps(own.desc, outputs, wanted, stopped)
    left_out: list[str] = []
    if found is not None:
        names = list(found)
        if parameter_list is None:
            missing = [name for name in wanted if name not in found]
            left_out = _left_out(missing, _reached(own, outputs, missing, stopped), gaps)
    elif parameter_list is None:
        names = _reached(own, outputs, wanted, stopped)
        left_out = _left_out([name for name in wanted if name not in names], [], gaps)
    else:
        names = wanted
    if not names:
        words = [*(_missing(name, gap).detail for name, gap in gaps.items()), *left_out]
        raise core.InvalidArgument(
            "program_target: the loss must depend on a trainable parameter, or on data that does "
            f"not stop gradients, got {', '.join(words) or 'a program without any'}"
        )
    values = {name: _fed(program, name, value) for name, value in feed.items()}
    inputs = [Input(name, _value(name, values, scope)) for name in names]
    values |= replay_frozen(own.desc, outputs, names, stopped, values, scope)
    frozen = frozen_variables(own.desc, outputs, names, stopped)
    if frozen:
        network = Network(own, values, [*frozen], scope=scope)
        values |= dict(zip(frozen, network.run(list(frozen)), strict=True))
    grads = None if found is None else list(found.values())
    return ProgramTarget(
        program, own, values, inputs, outputs, grads, stopped, scope, left_out, gaps
    )


def _gradient_names(
    program: Program,
    outputs: Sequence[str],
    parameter_list: list[str] | None,
    params_grads: ParamsGrads | None,
) -> dict[str, str] | None:
    """Input -> its gradient in the program; None if there are no gradient operators."""
    if params_grads is not None:
        pairs = [(_name(p), _name(grad)) for p, grad in params_grads if grad is not None]
        if parameter_list is not None:
            pairs = [pair for pair in pairs if pair[0] in parameter_list]
        return dict(pairs)
    ops = program.desc.block(0).ops()
    if len(outputs) != 1 or first_gradient_op(ops, outputs[0]) is None:
        return None
    found = gradients_written(program.desc, outputs[0])
    if parameter_list is None:
        names = [name for name in _sources(program) if name in found]
    else:
        names = parameter_list
    for name in names:
        if name not in found:
            raise core.InvalidArgument(
                f"program_target: the program must calculate '{core.grad_var_name(name)}', got no "
                "operator that writes it; give params_grads, or a program without gradients"
            )
    return {name: found[name] for name in names}


def _sources(program: Program) -> list[str]:
    """Trainable parameters, and data that does not stop gradients."""
    names = [p.name for p in program.all_parameters() if p.trainable]
    return names + [
        var.name()
        for var in program.desc.block(0).all_vars()
        if var.is_data() and not var.stop_gradient() and var.dtype() in FLOATING
    ]


def _reached(
    program: Program, outputs: Sequence[str], names: Sequence[str], stopped: set[str]
) -> list[str]:
    """Those of `names` that have a gradient."""
    block = program.clone().global_block()
    found = gradients(
        [block.var(name) for name in outputs],
        [block.var(name) for name in names],
        no_grad_set=stopped,
    )
    return [name for name, grad in zip(names, found, strict=True) if grad is not None]


def _missing(name: str, gap: Gap) -> Audit:
    where = f", added at {gap.call_site}" if gap.call_site else ""
    passed = "" if gap.variable == name else f" as '{gap.variable}'"
    detail = (
        f"'{name}' reaches the loss through {gap.slot} of '{gap.op_type}'{passed}, which gradients "
        f"do not pass{where}; set stop_gradient=True on '{gap.variable}' if that is meant"
    )
    return Audit(f"a gradient on every way, {name}", Verdict.FAIL, Reason.MISSING, detail)


def _left_out(names: Sequence[str], reached: Sequence[str], gaps: Container[str]) -> list[str]:
    """What a report says of variables without gradient, some of which the loss depends on."""
    quoted = {name: f"'{name}'" for name in names}
    apart = [quoted[name] for name in names if name not in reached and name not in gaps]
    needed = [quoted[name] for name in reached]
    notes = []
    if needed:
        notes.append(
            "not checked, for the program calculates no gradient of it, although the loss depends "
            f"on it: {_list(needed)}"
        )
    if apart:
        notes.append(f"not checked, for no gradient of the loss reaches it: {_list(apart)}")
    return notes


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _fed(program: Program, name: str, value: Any) -> Array:
    """A fed value as an array, as a run converts it."""
    declared = program.global_block().desc.find_var(name)
    return np.asarray(value if declared is None else as_declared(program, name, value, declared))


def _value(name: str, values: Mapping[str, Array], scope: core.Scope) -> Array:
    if name in values:
        return values[name]
    variable = scope.find_var(name)
    if variable is None or not variable.get_tensor().is_initialized():
        raise core.InvalidArgument(
            f"program_target: every variable that is differentiated by must have a value, got none "
            f"for '{name}'; run the startup program, or feed it"
        )
    return np.array(variable.get_tensor())


def _names(what: str, items: Iterable[Name], program: Program) -> list[str]:
    return variable_names(f"program_target: {what}", items, program)


def _name(item: Name) -> str:
    return item if isinstance(item, str) else item.name
