"""Branches in terms of functions: cond, case and switch_case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.base.checks import extents_agree, is_whole
from fluidcore.layers.arrays import is_array
from fluidcore.layers.conditional_block import append_conditional_block
from fluidcore.layers.constants import fill_number, number_dtype
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.layers.logic import equal, logical_and, logical_not
from fluidcore.layers.nested import Leaf, Row, mismatch, pack, rows
from fluidcore.layers.sub_block import check_callable, check_condition, check_seen
from fluidcore.layers.tensor import cast, fill_constant, sums
from fluidcore.program import Block, Variable

Branch = Callable[[], Any]


class _Built(NamedTuple):
    """A branch whose block is there, but not yet what leaves it.

    Attributes:
        label: What it is called in messages: "true_fn".
        block: Its block; None where the user gave no function.
        result: What the user's function returned.
    """

    label: str
    block: Block | None
    result: Any


@atomic
def cond(
    pred: Variable,
    true_fn: Branch | None = None,
    false_fn: Branch | None = None,
    name: str | None = None,
) -> Any:
    """The result of `true_fn()` or of `false_fn()`; only one of the two is calculated.

    Args:
        pred: One bool.
        true_fn: Makes the layers of the first branch, and returns Variables, numbers, None, or
            tuples, lists and dicts of these. None does and returns nothing.
        false_fn: The same for the second branch.
        name: Name of the layer; None makes one up.

    Returns:
        What the functions return, with a Variable for each Variable or number; None if they
        return None. A number gets dtype and shape of what the other function returns in its
        place; for two numbers that is [1] of bool, int64 or float32.

    Raises:
        TypeError: An argument, or something that is returned, is not what it must be.
        core.InvalidArgument: `pred` is not one bool, or the results differ in structure, shape or
            dtype; the message says where: `out[0]['h']`.

    Example:
        y = layers.cond(layers.less_than(x, limit), lambda: x * 2.0, lambda: x + 1.0)
    """
    pred = check_condition("cond", "pred", pred)
    for argument, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        if fn is not None:
            check_callable("cond", argument, fn)
    helper = LayerHelper("cond", name)
    # Before the blocks, which may write the condition.
    conditions = [pred, logical_not(pred)]
    mask = cast(pred, "int32")
    built = [_build(helper, "true_fn", true_fn), _build(helper, "false_fn", false_fn)]
    results = _leave(helper, built, conditions)
    selected = [_select(helper, values[::-1], mask) for values in results]
    return pack(built[0].result, iter(selected))


@atomic
def case(
    pred_fn_pairs: Sequence[tuple[Variable, Branch]],
    default: Branch | None = None,
    name: str | None = None,
) -> Any:
    """The result of the function that belongs to the first true condition.

    Args:
        pred_fn_pairs: (one bool, function) for each case; the functions are as those of `cond`.
        default: The function for when no condition is true; None for that of the last pair.
        name: Name of the layer; None makes one up.

    Returns:
        What the functions return, as of `cond`.

    Raises:
        TypeError: An argument, or something that is returned, is not what it must be.
        core.InvalidArgument: There is no case, a condition is not one bool, or the results differ
            in structure, shape or dtype; the message says where.

    Example:
        y = layers.case([(small, lambda: x), (large, lambda: x * 0.1)], default=lambda: x * 0.5)
    """
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise TypeError(
            f"case: pred_fn_pairs must be a list of (condition, function), got {pred_fn_pairs!r}"
        )
    preds: list[Variable] = []
    branches: dict[str, Branch] = {}
    for i, pair in enumerate(pred_fn_pairs):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"case: pred_fn_pairs[{i}] must be (condition, function), got {pair!r}")
        preds.append(check_condition("case", f"pred_fn_pairs[{i}][0]", pair[0]))
        check_callable("case", f"pred_fn_pairs[{i}][1]", pair[1])
        branches[f"pred_fn_pairs[{i}]"] = pair[1]
    if default is None:
        preds = preds[:-1]
    else:
        check_callable("case", "default", default)
        branches["default"] = default
    if not pred_fn_pairs:
        raise core.InvalidArgument("case: there must be at least one (condition, function), got []")
    return _choose(LayerHelper("case", name), preds, branches)


@atomic
def switch_case(
    branch_index: Variable,
    branch_fns: Sequence[Branch] | Sequence[tuple[int, Branch]] | Mapping[int, Branch],
    default: Branch | None = None,
    name: str | None = None,
) -> Any:
    """The result of the function whose number is the value of `branch_index`.

    Args:
        branch_index: One number, int64 or int32.
        branch_fns: Functions, numbered from 0; or pairs (number, function); or a dict of these.
            The functions are as those of `cond`.
        default: The function for all other numbers; None for that of the largest number.
        name: Name of the layer; None makes one up.

    Returns:
        What the functions return, as of `cond`.

    Raises:
        TypeError: An argument, or something that is returned, is not what it must be.
        core.InvalidArgument: There is no function, a number is there twice, or the results differ
            in structure, shape or dtype; the message says where.

    Example:
        y = layers.switch_case(layer_number, [lambda: x, lambda: x * 2.0])
    """
    check_variable("switch_case", "branch_index", branch_index)
    check_seen("switch_case", "branch_index", branch_index)
    if branch_index.dtype not in ("int32", "int64"):
        raise core.InvalidArgument(
            f"switch_case: branch_index must be int64 or int32, got {branch_index.dtype} for "
            f"'{branch_index.name}'"
        )
    numbered = _numbered(branch_fns)
    helper = LayerHelper("switch_case", name)
    branches = {f"branch {number}": fn for number, fn in numbered}
    numbers = [number for number, _ in numbered]
    if default is None:
        numbers = numbers[:-1]
    else:
        check_callable("switch_case", "default", default)
        branches["default"] = default
    shape = [1] if branch_index.shape else []
    preds = [
        equal(branch_index, fill_constant(shape, branch_index.dtype, number)) for number in numbers
    ]
    return _choose(helper, preds, branches)


def _numbered(branch_fns: Any) -> list[tuple[int, Branch]]:
    """The functions with their numbers, the smallest first."""
    if isinstance(branch_fns, Mapping):
        pairs = list(branch_fns.items())
    elif isinstance(branch_fns, (list, tuple)):
        pairs = [
            tuple(item) if isinstance(item, (list, tuple)) else (i, item)
            for i, item in enumerate(branch_fns)
        ]
    else:
        raise TypeError(
            f"switch_case: branch_fns must be a list or a dict of functions, got {branch_fns!r}"
        )
    for pair in pairs:
        if len(pair) != 2 or not is_whole(pair[0]):
            raise TypeError(f"switch_case: branch_fns must hold (number, function), got {pair!r}")
        check_callable("switch_case", f"the function of number {pair[0]}", pair[1])
    numbers = [int(number) for number, _ in pairs]
    if not numbers or len(set(numbers)) != len(numbers):
        raise core.InvalidArgument(
            f"switch_case: branch_fns must be at least one function, each with a number of its "
            f"own, got the numbers {numbers}"
        )
    return sorted(((int(number), fn) for number, fn in pairs), key=lambda pair: pair[0])


def _choose(helper: LayerHelper, preds: Sequence[Variable], branches: dict[str, Branch]) -> Any:
    """The result of the branch of the first true condition; the last branch has no condition."""
    conditions: list[Variable] = []
    remaining: list[Variable] = []  # whether neither this nor an earlier condition is true
    for pred in preds:
        otherwise = logical_not(pred)
        before = remaining[-1] if remaining else None
        conditions.append(pred if before is None else logical_and(before, pred))
        remaining.append(otherwise if before is None else logical_and(before, otherwise))
    if remaining:
        conditions.append(remaining[-1])
        mask = sums([cast(flag, "int32") for flag in remaining])
    else:
        conditions.append(fill_constant([1], "bool", 1))
        mask = fill_constant([1], "int32", 0)
    built = [_build(helper, label, fn) for label, fn in branches.items()]
    results = _leave(helper, built, conditions)
    return pack(built[0].result, iter([_select(helper, values, mask) for values in results]))


def _build(helper: LayerHelper, label: str, fn: Branch | None) -> _Built:
    if fn is None:
        return _Built(label, None, None)
    with helper.main_program.sub_block() as block:
        return _Built(label, block, fn())


def _leave(
    helper: LayerHelper, built: Sequence[_Built], conditions: Sequence[Variable]
) -> list[list[Variable]]:
    """Completes the blocks and appends their operators.

    Returns:
        For each leaf of the result, what each branch leaves behind; a tensor array alone.
    """
    layer = helper.layer_type
    labels = [branch.label for branch in built]
    results = []
    for row in rows(layer, "out", {branch.label: branch.result for branch in built}):
        if any(is_array(leaf) for leaf in row.leaves):
            results.append(_one_array(layer, row))
            continue
        variables = [leaf for leaf in row.leaves if isinstance(leaf, Variable)]
        for variable in variables[1:]:
            if variable.dtype != variables[0].dtype or not extents_agree(
                variable.shape, variables[0].shape
            ):
                raise mismatch(layer, row, labels)
        dtype = variables[0].dtype if variables else number_dtype(layer, row)
        shape = variables[0].shape if variables else (1,)
        results.append(
            [
                _outside(helper, branch, row.path, leaf, shape, dtype)
                for branch, leaf in zip(built, row.leaves, strict=True)
            ]
        )
    for branch, condition in zip(built, conditions, strict=True):
        if branch.block is not None:
            append_conditional_block(branch.block, [condition], is_scalar_condition=True)
    return results


def _outside(
    helper: LayerHelper,
    branch: _Built,
    path: str,
    leaf: Leaf,
    shape: Sequence[int],
    dtype: str,
) -> Variable:
    """A variable around the branch that the branch writes its result into."""
    assert branch.block is not None
    if not isinstance(leaf, Variable):
        out = helper.variable(shape, dtype)
        fill_number(helper.layer_type, f"{path} of {branch.label}", leaf, out, branch.block)
        return out
    check_seen(helper.layer_type, f"{path} of {branch.label}", leaf, branch.block)
    out = helper.variable(leaf.shape, dtype)
    branch.block.append_op("assign", {"X": leaf}, {"Out": out})
    return out


def _one_array(layer: str, row: Row) -> list[Variable]:
    array = row.leaves[0]
    if any(leaf is not array for leaf in row.leaves):
        raise core.InvalidArgument(
            f"{layer}: {row.path} must be the same tensor array in all branches, got different "
            f"results; make the array before the branches and write to it with "
            "array_write(x, i, array=...)"
        )
    check_seen(layer, row.path, array)
    return [array]


def _select(helper: LayerHelper, values: list[Variable], mask: Variable) -> Variable:
    if len(values) == 1 and is_array(values[0]):
        return values[0]
    return helper.append("select_input", {"X": values, "Mask": mask})
