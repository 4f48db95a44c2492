"""Random programs, run step by step with PyTorch."""

import torch
from random_programs import CLIP, SIZE


def run(statements, inputs, counter):
    """The loss; `inputs`: x, y, w and s."""
    runner = _Runner(inputs["s"], counter)
    values = [_Value(inputs[name]) for name in ("x", "y", "w")]
    values = runner.run(statements, values)
    return sum(value.tensor / (n + 1) for n, value in enumerate(values)).mean()


class _Value:
    """A variable: its tensor changes when it is overwritten."""

    def __init__(self, tensor, fixed=False, clipped=False):
        self.fixed = fixed
        self.clipped = clipped
        self.write(tensor)

    def write(self, tensor):
        self.tensor = _clipped(tensor) if self.clipped else tensor


def _clipped(tensor):
    """A copy whose gradient is clipped."""
    copy = tensor * 1.0
    if copy.requires_grad:
        copy.register_hook(lambda grad: grad.clamp(-CLIP, CLIP))
    return copy


class _Runner:
    def __init__(self, sequence, counter):
        self.sequence = sequence
        self.counter = counter

    def run(self, statements, values):
        values = list(values)
        for statement in statements:
            new = getattr(self, "_" + type(statement).__name__.lower())(statement, values)
            if new is not None:
                values.append(new)
        return values

    def _pick(self, values, index):
        return values[index % len(values)].tensor

    def _write(self, tensor, values, into):
        free = [value for value in values if not value.fixed]
        if into is None or not free:
            return _Value(tensor)
        free[into % len(free)].write(tensor)
        return None

    def _unary(self, it, values):
        return self._write(getattr(torch, it.f)(self._pick(values, it.x)), values, it.into)

    def _binary(self, it, values):
        x, y = self._pick(values, it.x), self._pick(values, it.y)
        return self._write(getattr(torch, it.f)(x, y) * 0.5, values, it.into)

    def _constant(self, it, values):
        free = [value for value in values if not value.fixed]
        if free:
            free[it.into % len(free)].write(torch.full((SIZE,), 0.25, dtype=torch.float64))

    def _split(self, it, values):
        return _Value(self._pick(values, it.x) * 1.0)

    def _stop(self, it, values):
        return _Value(self._pick(values, it.x).detach(), fixed=True)

    def _clipped(self, it, values):
        return _Value(torch.tanh(self._pick(values, it.x)), clipped=True)

    def _througharray(self, it, values):
        return _Value((self._pick(values, it.x) + self._pick(values, it.y)) * 0.5)

    def _loop(self, it, values):
        outer = self.counter
        if it.functional:
            place = it.carried % len(values)
            carried = values[place].tensor
            for self.counter in range(it.trips):
                inside = [*values]
                inside[place] = _Value(carried)
                carried = self.run(it.body, inside)[-1].tensor
            self.counter = outer
            return _Value(carried)
        for self.counter in range(it.trips):
            self.run(it.body, values)
        self.counter = outer
        return None

    def _branch(self, it, values):
        if self.counter < it.limit:
            self.run(it.body, values)

    def _choose(self, it, values):
        body = it.then if self.counter < it.limit else it.otherwise
        return _Value(self.run(body, values)[-1].tensor)

    def _scan(self, it, values):
        memory = self._pick(values, it.x)
        outputs = []
        for piece in self.sequence:
            before = _Value(memory, fixed=True, clipped=True)
            inside = [*values, _Value(piece, fixed=True), before]
            memory = _clipped(torch.tanh(self.run(it.body, inside)[-1].tensor))
            outputs.append(_clipped(memory * 2.0))
        return _Value(torch.stack(outputs).mean(0))
