"""Module: a function of tensors with parameters, made of other modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from fluidcore import core
from fluidcore.eager.state_dict import LoadedKeys, fitting
from fluidcore.eager.tensor import Tensor

PARAMETER, BUFFER, UNSAVED = "parameter", "buffer", "buffer that is not saved"


class Module:
    """The base of models: write `forward`, and assign parameters and modules to attributes.

        class Net(eager.Module):
            def __init__(self):
                self.hidden = nn.Linear(64, 32)
                self.factor = eager.ones([1], requires_grad=True)

            def forward(self, x):
                return self.hidden(x).relu() * self.factor

    A leaf that requires a gradient becomes a parameter when it is assigned, a Module a part. A list
    of modules must be a ModuleList. `super().__init__()` may be called; nothing depends on it.

    Attributes:
        training: Whether dropout drops, and norms take the statistics of the batch.
    """

    training: bool
    _roles: dict[str, str]  # of the attributes that are tensors of the module

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A module without parts."""
        del args, kwargs
        self = super().__new__(cls)
        vars(self).update(training=True, _roles={})
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module calculates; calling the module calls this."""
        del args, kwargs
        raise NotImplementedError(f"{type(self).__name__}: a Module must have a method forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` calculates."""
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        role = self._roles.get(name)
        who = f"{type(self).__name__}: '{name}'"
        if isinstance(value, Tensor):
            if role is not None and not value.is_leaf:
                raise core.InvalidArgument(
                    f"{who} is a {role}, and must be a leaf, got {value!r}; write x.detach()"
                )
            if role is None and value.is_leaf and value.requires_grad:
                self._roles[name] = PARAMETER
        elif role is not None and value is not None:
            raise TypeError(f"{who} is a {role}, and must be a Tensor, got {type(value).__name__}")
        elif isinstance(value, Module):
            if any(part is self for part in value.modules()):
                raise core.InvalidArgument(f"{who} must not hold the module that it is a part of")
        elif _holds_modules(value):
            raise TypeError(
                f"{who} must be a ModuleList, got a {type(value).__name__} of modules, whose "
                "parameters would not be found; write nn.ModuleList([...])"
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._roles.pop(name, None)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Sets an attribute that belongs to the state of the module and is not learnt.

        Args:
            name: Of the attribute.
            tensor: A constant; None for none.
            persistent: Whether it is in `state_dict`.
        """
        if tensor is not None and (not isinstance(tensor, Tensor) or tensor.requires_grad):
            raise TypeError(
                f"register_buffer: '{name}' must be a Tensor that requires no gradient, "
                f"got {tensor!r}"
            )
        self._roles[name] = BUFFER if persistent else UNSAVED
        setattr(self, name, tensor)

    # What it is made of

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules among its attributes, with their names."""
        return ((name, part) for name, part in vars(self).items() if isinstance(part, Module))

    def children(self) -> Iterator[Module]:
        """The modules among its attributes."""
        return (part for _, part in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """The module itself, its parts, their parts, each once: ("", self), ("0.norm", ...)."""
        seen: set[int] = set()
        for name, module in self._walk(prefix):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> Iterator[Module]:
        """As named_modules, without the names."""
        return (module for _, module in self.named_modules())

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """What is learnt, each tensor once: ("0.weight", Tensor)."""
        return self._once(prefix, PARAMETER)

    def parameters(self) -> Iterator[Tensor]:
        """What is learnt, each tensor once."""
        return (tensor for _, tensor in self.named_parameters())

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """State that is not learnt, each tensor once: ("1.running_mean", Tensor)."""
        return self._once(prefix, BUFFER, UNSAVED)

    def buffers(self) -> Iterator[Tensor]:
        """State that is not learnt, each tensor once."""
        return (tensor for _, tensor in self.named_buffers())

    def _walk(self, prefix: str) -> Iterator[tuple[str, Module]]:
        yield prefix, self
        for name, part in self.named_children():
            yield from part._walk(f"{prefix}.{name}" if prefix else name)

    def _tensors(self, prefix: str, *roles: str) -> Iterator[tuple[str, Tensor]]:
        for path, module in self._walk(prefix):
            for name, role in module._roles.items():
                tensor = vars(module).get(name)
                if role in roles and tensor is not None:
                    yield f"{path}.{name}" if path else name, tensor

    def _once(self, prefix: str, *roles: str) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for name, tensor in self._tensors(prefix, *roles):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield name, tensor

    # What is done to it

    def train(self, mode: bool = True) -> Self:
        """Sets `training` here and in all parts; returns the module."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        """As train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad` of all parameters, False to freeze them; returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.zero_grad()

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and buffers as they are now, as constants: {"0.weight": Tensor, ...}.

        Later steps of an optimizer leave it as it is. `eager.save` writes it to a file.
        """
        return {name: t.detach() for name, t in self._tensors("", PARAMETER, BUFFER)}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> LoadedKeys:
        """Gives parameters and buffers the values of a state_dict, converted to their dtypes.

        Args:
            state_dict: Name -> Tensor or array, of `state_dict` or `eager.load`; PyTorch's too, as
                names and layouts are the same.
            strict: Whether names that are missing or not expected are errors.

        Returns:
            The names that were missing, and those that were not expected.

        Raises:
            core.InvalidArgument: A name or, strict or not, a shape does not fit. Nothing is
                changed then, and the message has all that does not fit.
        """
        own = dict(self._tensors("", PARAMETER, BUFFER))
        cure = "strict=False goes without names"
        found, keys = fitting(type(self).__name__, own, state_dict, strict, cure)
        for name, value in found.items():
            own[name].set_value(value)
        return keys

    def extra_repr(self) -> str:
        """What `repr` shows in the parentheses of a module: "in_features=2, out_features=3"."""
        return ""

    def __repr__(self) -> str:
        parts = [f"({name}): {part!r}" for name, part in self.named_children()]
        head = f"{type(self).__name__}({self.extra_repr()}"
        if not parts:
            return f"{head})"
        return "\n".join([head, *("\n".join(parts)).splitlines()]).replace("\n", "\n  ") + "\n)"


def _holds_modules(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (list, tuple, dict)) and any(isinstance(v, Module) for v in items)
