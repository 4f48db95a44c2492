"""StaticRNN: a block that is run once for each time step of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fluidcore import core
from fluidcore.base.checks import extents_agree
from fluidcore.layers.helper import LayerHelper, check_variable, restored_on_error
from fluidcore.layers.nested import describe
from fluidcore.layers.rnn_memory import Memory, initial_memory
from fluidcore.layers.sub_block import append_block_op, check_seen
from fluidcore.program import Block, Variable, default_main_program


class StaticRNN:
    """Runs a block once for each time step; time is dimension 0.

    Args:
        name: Name of the layer; None makes one up.
        is_reverse: Whether it begins with the last step. Every result has the place of its step.

    Raises:
        TypeError: An argument is no Variable.
        core.InvalidArgument: A method is called at the wrong place; the inputs differ in length; a
            memory is not updated, or by something of another shape or dtype; there is no
            step_input or no step_output. After an error in the block the program is as before it.

    Example:
        rnn = layers.StaticRNN()
        with rnn.step():
            word = rnn.step_input(words)  # [time, batch, 8] -> [batch, 8]
            before = rnn.memory(shape=[-1, 16], batch_ref=word)
            hidden = layers.fc([word, before], 16, act="tanh")
            rnn.update_memory(before, hidden)
            rnn.step_output(hidden)
        states = rnn()  # [time, batch, 16]
    """

    def __init__(self, name: str | None = None, is_reverse: bool = False) -> None:
        self._helper = LayerHelper("static_rnn", name)
        self._is_reverse = is_reverse
        self._block: Block | None = None  # while inside
        self._reset()

    def _reset(self) -> None:
        self._inputs: list[tuple[Variable, Variable]] = []  # sequence, its slice
        self._memories: list[Memory] = []
        self._outputs: list[Variable] = []
        self._results: list[Variable] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        """The layers inside the `with` are those of one step."""
        if self._block is not None or self._results:
            raise core.InvalidArgument(
                "static_rnn: step() must be entered once, got a second time; make another StaticRNN"
            )
        self._parent = default_main_program().current_block()
        try:
            with restored_on_error():
                with default_main_program().sub_block() as block:
                    self._block = block
                    yield
                    self._complete(block)
                self._results = self._append(block)
        except BaseException:
            self._reset()
            raise
        finally:
            self._block = None

    def _inside(self, what: str) -> Block:
        if self._block is None:
            raise core.InvalidArgument(
                f"static_rnn: {what} must be called inside step(), got a call outside; "
                "write `with rnn.step():`"
            )
        return self._block

    def step_input(self, x: Variable) -> Variable:
        """The slice of a sequence that belongs to the step.

        Args:
            x: [time, ...], made before the block. All sequences have the same length.

        Returns:
            [...].
        """
        block = self._inside("step_input")
        check_variable("static_rnn", "x of step_input", x)
        check_seen("static_rnn", "x of step_input", x, self._parent)
        if not x.shape:
            raise core.InvalidArgument(
                f"static_rnn: a step_input must be [time, ...], got '{x.name}' of shape []"
            )
        lengths = {seq.name: seq.shape[0] for seq, _ in self._inputs} | {x.name: x.shape[0]}
        if len({length for length in lengths.values() if length != -1}) > 1:
            listed = ", ".join(f"{length} for '{name}'" for name, length in lengths.items())
            raise core.InvalidArgument(
                f"static_rnn: all step inputs must have the same length, got {listed}"
            )
        part = self._inner(block, x.name, x.shape[1:], x.dtype)
        self._inputs.append((x, part))
        return part

    def _inner(self, block: Block, key: str, shape: Sequence[int], dtype: str) -> Variable:
        """A variable of the block that is set before each step."""
        name = block.unique_name(f"{self._helper.name}.{key}")
        return block.create_var(name, shape=shape, dtype=dtype)

    def memory(
        self,
        init: Variable | None = None,
        shape: Sequence[int] | None = None,
        batch_ref: Variable | None = None,
        init_value: float = 0.0,
        init_batch_dim_idx: int = 0,
        ref_batch_dim_idx: int = 1,
    ) -> Variable:
        """What is carried from step to step; update_memory must follow.

        Args:
            init: What it starts as, made before the block. Without it:
            shape: The shape it starts with; the extent at init_batch_dim_idx may be unknown.
            batch_ref: A step input, or a variable made before the block, from which the unknown
                extent is taken. Of a step input the whole sequence counts.
            init_value: Of each element. The dtype is that of batch_ref, or else of the first step
                input; float32 if that is not floating.
            init_batch_dim_idx: Which extent of `shape` is taken from batch_ref.
            ref_batch_dim_idx: Which extent of batch_ref it is: 1 in [time, batch, ...].

        Returns:
            The value after the step before; the shape that it starts with.
        """
        block = self._inside("memory")
        if init is None:
            dims = (init_batch_dim_idx, ref_batch_dim_idx)
            with self._helper.main_program.inside(self._parent):
                init = initial_memory(shape, batch_ref, init_value, dims, self._inputs)
        check_variable("static_rnn", "init of memory", init)
        check_seen("static_rnn", "init of memory", init, self._parent)
        before = self._inner(block, "memory", init.shape, init.dtype)
        self._memories.append(Memory(init, before))
        return before

    def update_memory(self, mem: Variable, var: Variable) -> None:
        """Says what a memory is after the step.

        Args:
            mem: What `memory` returned.
            var: Shape and dtype of `mem`; its value at the end of the step counts.
        """
        block = self._inside("update_memory")
        check_variable("static_rnn", "mem of update_memory", mem)
        check_variable("static_rnn", "var of update_memory", var)
        memory = next((known for known in self._memories if known.before is mem), None)
        if memory is None:
            raise core.InvalidArgument(
                f"static_rnn: mem of update_memory must come from memory(), got '{mem.name}'"
            )
        if memory.after is not None:
            raise core.InvalidArgument(
                f"static_rnn: a memory must be updated once, got '{mem.name}' by "
                f"'{memory.after.name}' and by '{var.name}'"
            )
        check_seen("static_rnn", "var of update_memory", var, block)
        if var.dtype != mem.dtype or not extents_agree(var.shape, mem.shape):
            raise core.InvalidArgument(
                f"static_rnn: a memory must keep its shape and dtype, got {describe(var)} for "
                f"'{mem.name}', which is {describe(mem)}"
            )
        memory.after = var

    def step_output(self, o: Variable) -> None:
        """Adds a result: its values in all steps, one after the other.

        Args:
            o: Any shape; its value at the end of the step counts.
        """
        block = self._inside("step_output")
        check_variable("static_rnn", "o of step_output", o)
        check_seen("static_rnn", "o of step_output", o, block)
        self._outputs.append(o)

    def output(self, *outputs: Variable) -> None:
        """Adds several results, as step_output."""
        for o in outputs:
            self.step_output(o)

    def _complete(self, block: Block) -> None:
        """Checks that all is there, at the end of the block."""
        if not self._inputs:
            raise core.InvalidArgument(
                "static_rnn: the block must have a step_input, which gives the number of steps, "
                "got none"
            )
        for memory in self._memories:
            if memory.after is None:
                raise core.InvalidArgument(
                    f"static_rnn: every memory must be updated, got none for '{memory.before.name}'"
                    f"; write update_memory({memory.before.name}, new) in the block"
                )
        if not self._outputs:
            raise core.InvalidArgument(
                "static_rnn: the block must have a step_output, got none; write step_output(x)"
            )
        given = self._given()
        for op in block.desc.ops():
            for name in op.output_arg_names():
                if name in given:
                    raise core.InvalidArgument(
                        f"static_rnn: the block must not write to its step inputs and memories, "
                        f"got {op.type()}, which writes '{name}'; write a new variable, and "
                        "update_memory(memory, new)"
                    )
        for memory in self._memories:
            assert memory.after is not None
            memory.after = self._own(block, memory.after)
        self._outputs = [self._own(block, o) for o in self._outputs]

    def _given(self) -> set[str]:
        """The variables of the block that are set before each step."""
        parts = {part.name for _, part in self._inputs}
        return parts | {memory.before.name for memory in self._memories}

    def _own(self, block: Block, variable: Variable) -> Variable:
        """The variable, or a copy, so that it is one that the block itself calculates."""
        if block.has_var(variable.name) and variable.name not in self._given():
            return variable
        return block.append_single("assign", {"X": variable}, key=f"{self._helper.name}.tmp")

    def _append(self, block: Block) -> list[Variable]:
        after = [memory.after.name for memory in self._memories if memory.after is not None]
        names = [self._helper.temporary() for _ in self._outputs]
        append_block_op(
            "recurrent",
            block,
            {
                "inputs": [sequence for sequence, _ in self._inputs],
                "initial_states": [memory.initial for memory in self._memories],
            },
            {"outputs": names},
            {
                "ex_states": [memory.before.name for memory in self._memories],
                "states": after,
                "step_inputs": [part.name for _, part in self._inputs],
                "step_outputs": [o.name for o in self._outputs],
                "reverse": self._is_reverse,
            },
        )
        return [self._parent.var(name) for name in names]

    def __call__(self) -> Variable | list[Variable]:
        """The results.

        Returns:
            [time, ...] for each step_output; a list if there are several.
        """
        if self._block is not None or not self._results:
            where = "inside of step()" if self._block is not None else "without a complete step()"
            raise core.InvalidArgument(
                f"static_rnn: the result must be asked for after the block, got a call {where}"
            )
        return self._results[0] if len(self._results) == 1 else list(self._results)
