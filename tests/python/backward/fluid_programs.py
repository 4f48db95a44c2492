"""Random programs, built with fluidcore."""

from random_programs import CLIP, SIZE, STEPS

import fluidcore as fluid
from fluidcore import layers

INPUTS = {"x": [SIZE], "y": [SIZE], "w": [SIZE], "s": [STEPS, SIZE]}


def build(statements):
    """The program, and its loss; `t`, int64 [1], stands for the counter outside of loops."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        data = {}
        for name, shape in INPUTS.items():
            data[name] = layers.data(name, shape, dtype="float64", append_batch_size=False)
            data[name].stop_gradient = False
        counter = layers.data("t", [1], dtype="int64", append_batch_size=False)
        builder = _Builder(main, data["s"], counter)
        values = [data["x"], data["y"], data["w"]]
        values = builder.run(statements, values)
        terms = [layers.scale(value, scale=1.0 / (n + 1)) for n, value in enumerate(values)]
        loss = layers.mean(layers.sum(terms))
    return main, loss


def _clipped(variable):
    variable.error_clip = fluid.clip.ErrorClipByValue(CLIP)
    return variable


class _Builder:
    def __init__(self, main, sequence, counter):
        self.main = main
        self.sequence = sequence
        self.counter = counter
        self.fixed = set()  # variables that nothing may overwrite

    def run(self, statements, values):
        """The values after the statements; new ones are added."""
        values = list(values)
        for statement in statements:
            new = getattr(self, "_" + type(statement).__name__.lower())(statement, values)
            if new is not None:
                values.append(new)
        return values

    def _pick(self, values, index):
        return values[index % len(values)]

    def _target(self, values, into):
        if into is None:
            return None
        free = [value for value in values if value.name not in self.fixed]
        return free[into % len(free)] if free else None

    def _write(self, op_type, inputs, target, attrs=None):
        block = self.main.current_block()
        if target is None:
            return block.append_single(op_type, inputs, attrs, key="v")
        block.append_op(op_type, inputs, {"Out": target}, attrs)
        return None

    def _unary(self, it, values):
        return self._write(it.f, {"X": self._pick(values, it.x)}, self._target(values, it.into))

    def _binary(self, it, values):
        inputs = {"X": self._pick(values, it.x), "Y": self._pick(values, it.y)}
        whole = self._write(f"elementwise_{it.f}", inputs, None)
        return self._write("scale", {"X": whole}, self._target(values, it.into), {"scale": 0.5})

    def _constant(self, it, values):
        target = self._target(values, it.into)
        if target is not None:
            attrs = {"shape": [SIZE], "value": 0.25, "dtype": "float64"}
            self._write("fill_constant", {}, target, attrs)

    def _split(self, it, values):
        both = layers.concat([self._pick(values, it.x), self._pick(values, it.y)], axis=0)
        return layers.split(both, 2, dim=0)[0]

    def _stop(self, it, values):
        copy = layers.assign(self._pick(values, it.x))
        copy.stop_gradient = True
        self.fixed.add(copy.name)
        return copy

    def _clipped(self, it, values):
        return _clipped(layers.tanh(self._pick(values, it.x)))

    def _througharray(self, it, values):
        x, y = self._pick(values, it.x), self._pick(values, it.y)
        zero = layers.fill_constant([1], "int64", 0)
        one = layers.fill_constant([1], "int64", 1)
        array = layers.array_write(y, zero)
        layers.array_write(y, one, array)
        layers.array_write(x, zero, array)
        both = layers.elementwise_add(layers.array_read(array, zero), layers.array_read(array, one))
        return layers.scale(both, scale=0.5)

    def _slope(self, it, values):
        square = layers.reduce_sum(layers.square(values[-1]))
        (slope,) = fluid.gradients(square, self._pick(values, it.x))
        return None if slope is None else layers.tanh(slope)

    def _loop(self, it, values):
        zero = layers.fill_constant([1], "int64", 0)
        end = layers.fill_constant([1], "int64", it.trips)
        outer = self.counter
        if it.functional:
            place = it.carried % len(values)

            def body(i, carried):
                self.counter = i
                inside = [*values]
                inside[place] = carried
                return layers.increment(i, in_place=False), self.run(it.body, inside)[-1]

            start = [zero, values[place]]
            _, result = layers.while_loop(lambda i, _: layers.less_than(i, end), body, start)
            self.counter = outer
            return result
        running = layers.less_than(zero, end)
        loop = layers.While(running)
        self.counter = zero
        with loop.block():
            self.run(it.body, values)
            layers.increment(zero)
            layers.less_than(zero, end, cond=running)
        self.counter = outer
        return None

    def _condition(self, limit):
        return layers.less_than(self.counter, layers.fill_constant([1], "int64", limit))

    def _branch(self, it, values):
        block = layers.ConditionalBlock([self._condition(it.limit)], is_scalar_condition=True)
        with block.block():
            self.run(it.body, values)

    def _choose(self, it, values):
        return layers.cond(
            self._condition(it.limit),
            lambda: self.run(it.then, values)[-1],
            lambda: self.run(it.otherwise, values)[-1],
        )

    def _scan(self, it, values):
        rnn = layers.StaticRNN()
        with rnn.step():
            piece = rnn.step_input(self.sequence)
            memory = _clipped(rnn.memory(init=self._pick(values, it.x)))
            self.fixed |= {piece.name, memory.name}
            new = _clipped(layers.tanh(self.run(it.body, [*values, piece, memory])[-1]))
            rnn.update_memory(memory, new)
            rnn.step_output(_clipped(layers.scale(new, scale=2.0)))
        return layers.reduce_mean(rnn(), dim=0)
