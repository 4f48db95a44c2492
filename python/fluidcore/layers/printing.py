"""Print: looking at a tensor when the program runs."""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.checks import check_name, check_whole
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.program import Variable
from fluidcore.program.prints import Print as Printing

_PHASES = {"forward": (True, False), "backward": (False, True), "both": (True, True)}


@atomic
def Print(  # noqa: N802 - Fluid's name
    input: Variable,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = -1,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Variable:
    """Prints a tensor, and its gradient, whenever the program runs.

    The Executor fetches the two beside what is fetched anyway, and prints them at the end of the
    run, values in the order of the program, then gradients. So a run that ends with an error prints
    nothing, and one with a Print calculates all that this needs. What is saved as text has no
    Print, a copy has.

    Args:
        input: Any variable of the outermost block but a tensor array.
        first_n: In how many runs it is printed; -1 for all.
        message: Written above it.
        summarize: How many elements are printed, from the first on; -1 for as NumPy prints an
            array, with the middle left out of large ones.
        print_tensor_name: Whether its name is printed.
        print_tensor_type: Whether its element type is printed.
        print_tensor_shape: Whether its shape is printed.
        print_tensor_lod: Accepted for Fluid's sake: there are no nested sequences.
        print_phase: "forward" for the value, "backward" for the gradient, or "both".

    Returns:
        The tensor, of the shape and dtype of `input`; go on with this one, for its gradient.

    Raises:
        core.InvalidArgument: It is in a loop or a branch; or `print_phase` is none of these.
    """
    del print_tensor_lod
    check_variable("Print", "input", input)
    if message is not None:
        check_name("Print: message", message)
    if check_name("Print: print_phase", print_phase) not in _PHASES:
        raise core.InvalidArgument(
            f"Print: print_phase must be 'forward', 'backward' or 'both', got '{print_phase}'"
        )
    helper = LayerHelper("print")
    if helper.block.idx != 0:
        raise core.InvalidArgument(
            f"Print: must be in the outermost block, got block {helper.block.idx}; write what the "
            "loop or branch calculates to a variable outside, and print that"
        )
    out = helper.append("assign", {"X": input})
    printing = Printing(
        out.name,
        message,
        check_whole("Print: first_n", first_n, -1),
        check_whole("Print: summarize", summarize, -1),
        *_PHASES[print_phase],
        bool(print_tensor_name),
        bool(print_tensor_type),
        bool(print_tensor_shape),
    )
    program = helper.main_program
    program.prints = (*program.prints, printing)
    return out
