"""Functions of PyTorch tensors, torch.autograd.Function, modules and custom operators."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters import arguments, origin, torch_batch, torch_state
from fluidcore.gradcheck.adapters.callable_ import CallableTarget, name_of_dtype
from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.target.strides import same_strides
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles, Run

_LARGE = 1 << 14  # elements, from which on threads are worth their while


class TorchTarget(CallableTarget):
    """y = f(*args) over tensors, with the gradient of torch.autograd.

    Differentiated by are the floating tensors; if some of the arguments require grad, only those.
    The parameters of a module that require grad are inputs, too, under their names in state_dict.
    A complex tensor is real with another axis, of its real and imaginary parts.
    f sees copies, draws the same random numbers in every run, and leaves buffers as they were.
    """

    framework: ClassVar[str] = "PyTorch"
    smallest_batch = 16  # torch.vmap of a small f takes as long as that many runs of it

    def __init__(self, f: Any, args: Sequence[Any], claim: Claim, name: str | None = None) -> None:
        self._torch: Any = sys.modules["torch"]
        self._user = f
        self._parameters = 0
        if isinstance(f, self._torch.nn.Module):
            f = torch_state.Module(f, name or type(f).__name__)
            args = (*args, f.parameters())
            self._parameters = len(f.parameters())
        elif _is_function(f):
            f = f.apply
        self._modules = torch_state.modules_of(f)
        self._buffered: list[Any] = []  # those that have something to be kept
        self._devices: list[Any] = []
        self._lent: dict[int, torch_state.Loan] | None = None  # what user code gets in this run
        self.is_called_by_autograd = claim.vjp is None and not claim.value_and_grad
        self._takes_complex = self.is_called_by_autograd and claim.jvp is None
        self._own_dtype = self._torch.get_default_dtype()
        self.second_note = ""
        self._has_graph = True
        self._needs_graph: dict[str, bool] = {}  # in order to give the same bits, by the dtype
        self._asked: list[bool] = []  # for each output, whether autograd differentiates it
        self._wide = True  # whether torch.zeros and torch.rand make float64 in a float64 run
        super().__init__(f, args, claim, name)

    def _name(self) -> str:
        owner: Any = getattr(self.f, "__self__", None)
        if _is_function(owner):
            return origin.name_of(owner)
        custom = getattr(self.f, "_qualname", None)
        return custom if isinstance(custom, str) else origin.name_of(self._user)

    def _gradient_code(self) -> Any:
        owner: Any = getattr(self.f, "__self__", None)
        if _is_function(owner):
            return owner.backward
        if isinstance(self.f, torch_state.Module):
            return self.f.forward
        return getattr(self.f, "_backward_fn", None) or self.f

    def _labels(self) -> list[str]:
        count = len(self._args)
        owner: Any = getattr(self.f, "__self__", None)
        if isinstance(self.f, torch_state.Module):
            return [*arguments.argument_names(self.f.forward, count - 1), ""]
        if _is_function(owner):
            apart = owner.setup_context is not self._torch.autograd.Function.setup_context
            names = arguments.argument_names(owner.forward, count + (not apart))
            return names if apart else names[1:]  # without ctx
        return arguments.argument_names(getattr(self.f, "_init_fn", self.f), count)

    def _differentiated(self, named: Sequence[tuple[str, Any]]) -> Sequence[int]:
        count = len(named) - self._parameters
        asked = [i for i, (_, leaf) in enumerate(named) if leaf.requires_grad]
        chosen = [i for i in asked if i < count] or list(range(count))
        return [*chosen, *(i for i in asked if i >= count)]

    def _place(self, named: Sequence[tuple[str, Any]]) -> str:
        devices = {leaf.device: path for path, leaf in named if leaf.dim() or leaf.device.index}
        if len(devices) > 1:
            got = ", ".join(f"{path!r} on {device}" for device, path in devices.items())
            raise core.InvalidArgument(
                f"{self.who}: all tensors must be on one device, got {got}; move them there"
            )
        for path, leaf in named:
            if leaf.layout is not self._torch.strided or leaf.is_quantized:
                kind = "quantized" if leaf.is_quantized else f"of layout {leaf.layout}"
                raise core.InvalidArgument(
                    f"{self.who}: tensors must be dense, got {path!r} {kind}; check a function of "
                    "dense ones that makes it inside"
                )
        for device, path in devices.items():
            if device.type == "meta":
                raise core.InvalidArgument(
                    f"{self.who}: tensors must have values, got {path!r} on the meta device"
                )
        self._devices = [device for device in devices if device.type == "cuda"]
        return "gpu" if self._devices else "cpu"

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        torch = self._torch
        self._own_dtype = torch.get_default_dtype()
        self._buffered = [module for module in self._modules if [*module.buffers()]]
        with (
            super()._kept(),
            torch_state.kept_settings(self._devices),
            torch.inference_mode(False),
            torch.enable_grad(),
        ):
            yield

    def _session(self, dtype: str) -> contextlib.AbstractContextManager[None]:
        torch = self._torch
        usual = super()._session(dtype)
        torch_state.seed(self._devices)
        default = torch.float64 if dtype == SHADOW and self._wide else self._own_dtype
        if torch.get_default_dtype() is not default:
            torch.set_default_dtype(default)
        if self._is_small and torch.get_num_threads() > 1:
            torch.set_num_threads(1)
        if self._buffered:
            return torch_state.kept_buffers(self._buffered)
        return usual

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """As of CallableTarget."""
        with self._lending():
            return super().forward(xs, dtype)

    def vjp(self, xs: Sequence[Array], vs: Sequence[Any], dtype: str) -> list[Array]:
        """As of CallableTarget."""
        with self._lending():
            return super().vjp(xs, vs, dtype)

    def vjps(
        self, xs: Sequence[Array], many: Iterable[Sequence[Any]], dtype: str
    ) -> Iterator[list[Array]]:
        """As of Target; of one graph, if the gradients are those of PyTorch."""
        if not self.is_called_by_autograd:
            yield from super().vjps(xs, many, dtype)
            return
        with self._lending(), self._one_run(), self._session(dtype):
            tensors = self._points(xs, dtype)
            ys = self._run(tensors, dtype)
            for vs in many:
                grads = self._pulled(ys, tensors, vs, retain_graph=True)
                yield self._narrowed(self._arrays(grads, xs), dtype)

    @functools.cached_property
    def _is_small(self) -> bool:
        return sum(put.value.size for put in self.inputs) < _LARGE

    @contextlib.contextmanager
    def _lending(self) -> Iterator[None]:
        """Shows in the arrays what user code changes in the tensors made of them."""
        outer, self._lent = self._lent, {}
        try:
            yield
            for loan in self._lent.values():
                loan.show_changes(self._array)
        finally:
            self._lent = outer

    def batched(self, k: int, elements: Array, dtype: str) -> Run | None:
        """As of Target; where PyTorch has rules to run all operators on a batch."""
        points = super()._points([cast(put.value, dtype) for put in self.inputs], dtype)

        def f(x: Any) -> list[Any]:
            return self._run([*points[:k], x, *points[k + 1 :]], dtype)

        run = torch_batch.batched(f, cast(self.inputs[k].value, dtype), elements)

        def in_session(zs: Sequence[Doubles]) -> list[Array]:
            with self._one_run(), self._session(dtype):
                found: list[Array] = self._without_graph(run, zs)
                return found

        return in_session

    def _first_runs(self) -> str:
        reason = super()._first_runs()
        if reason:
            self._wide = False
            reason = super()._first_runs()
        return reason

    def _function(self, dtype: str) -> Callable[..., Any]:
        if isinstance(self.f, torch_state.Module):
            is_own = dtype == self.dtype and dtype != SHADOW
            return functools.partial(self.f.run, "" if is_own else dtype)
        return super()._function(dtype)

    def _pull(self, tensors: list[Any], vs: Sequence[Any], dtype: str) -> list[Any]:
        return self._pulled(self._run(tensors, dtype), tensors, vs)

    def _pulled(
        self, ys: list[Any], tensors: list[Any], vs: Sequence[Any], **options: Any
    ) -> list[Any]:
        used = [(y, v) for y, v in zip(ys, vs, strict=True) if v is not None]
        cotangents = [self._tensor(v, y).to(y.dtype) for y, v in used]
        return self._gradients([y for y, _ in used], tensors, cotangents, **options)

    def _pull_twice(
        self, tensors: list[Any], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Any]:
        ys = self._run(tensors, dtype)
        leaves = [self._tensor(v, y).requires_grad_() for y, v in zip(ys, vs, strict=True)]
        cotangents = [leaf.to(y.dtype) for leaf, y in zip(leaves, ys, strict=True)]
        try:
            grads = self._gradients(ys, tensors, cotangents, create_graph=True)
            pairs = zip(grads, us, strict=True)
            found = [(g, self._tensor(u, g)) for g, u in pairs if g is not None]
            once = [grad for grad, _ in found]
            if torch_state.is_differentiable_once(once):
                why = "backward is marked once_differentiable: PyTorch refuses to differentiate it"
                raise NoSecondGradientError(why, is_promised=True)
            self.second_note = torch_state.detached(once)
            return self._gradients(once, [*tensors, *leaves], [u for _, u in found])
        except RuntimeError as error:
            why = str(error).strip().partition("\n")[0]
            raise NoSecondGradientError(why, is_promised=True) from error

    def _outputs(self, value: Any) -> list[Any]:
        """Those that autograd differentiates: it refuses to take a gradient of the others."""
        found = super()._outputs(value)
        if not self.is_called_by_autograd:
            return found
        found = [self._parts(y) if y.is_complex() else y for y in found]
        if self._has_graph:
            asked = [y.requires_grad for y in found]
            self._asked = asked if any(asked) else [True] * len(found)
        return list(itertools.compress(found, self._asked))

    def _evaluation(self, dtype: str) -> Run:
        """As of CallableTarget; without a graph, if f gives the same bits without one."""
        whole = super()._evaluation(dtype)
        if dtype not in self._needs_graph:
            xs = [cast(put.value, dtype) for put in self.inputs]
            with contextlib.suppress(Exception):
                self.again(xs, self.forward(xs, dtype), dtype)
        if self._needs_graph.get(dtype, True):
            return whole
        return self._bare(dtype) or (lambda xs: self._without_graph(whole, xs))

    def _bare(self, dtype: str) -> Run | None:
        """The same in fewer steps, for a function that takes a tensor for each array."""
        torch, f = self._torch, self._function(dtype)
        kind, likes = getattr(torch, dtype), [*self._likes, *self._tensors]
        is_bare = self._is_flat and self._are_plain and not (self._is_mixed or self._modules)
        if not (is_bare and all(like.is_cpu for like in likes) and dtype != "bfloat16"):
            return None
        tensor_of, no_grad = torch.from_numpy, torch.no_grad

        def run(xs: Sequence[Array]) -> list[Array]:
            with no_grad():
                y = f(*map(tensor_of, xs))
                if type(y) is torch.Tensor and y.dtype is kind:
                    return [self._array(y)]
                self._has_graph = False
                try:
                    return [self._array(found) for found in self._outputs(y)]
                finally:
                    self._has_graph = True

        return run

    def again(self, xs: Sequence[Array], ys: Sequence[Array], dtype: str) -> list[Array]:
        """As of Target; without a graph, if that makes no difference."""
        with contextlib.suppress(Exception), self._one_run(), self._session(dtype):
            whole = super()._evaluation(dtype)
            found: list[Array] = self._without_graph(whole, [x.copy() for x in xs])
            is_same = len(found) == len(ys) and all(map(core.same_bits, found, ys))
            self._needs_graph[dtype] = not is_same
            if is_same:
                return found
        return self.forward(xs, dtype)

    def _without_graph(self, run: Callable[[Any], Any], xs: Any) -> Any:
        self._has_graph = False
        try:
            with self._torch.no_grad():
                return run(xs)
        finally:
            self._has_graph = True

    def _run(self, tensors: list[Any], dtype: str) -> list[Any]:
        return self._outputs(self._function(dtype)(*self._arguments(tensors, dtype)))

    def _gradients(
        self, ys: list[Any], tensors: list[Any], cotangents: list[Any], **options: Any
    ) -> list[Any]:
        """None stands for everything that no output depends on."""
        pairs = [(y, v) for y, v in zip(ys, cotangents, strict=True) if y.requires_grad]
        if not pairs:
            return [None for _ in tensors]
        found, weights = zip(*pairs, strict=True)
        try:
            return list(torch_state.gradients(found, tensors, weights, **options))
        except RuntimeError as error:
            if "returned an invalid gradient" not in str(error):
                raise
            raise core.InvalidArgument(
                f"{self.who}: backward must return gradients of the shapes of its inputs, got: "
                f"{error}"
            ) from error

    def _narrowing(self, native: Sequence[Array], xs: list[Array], dtype: str) -> str:
        with torch_state.narrowing_casts(dtype) as found:
            self.vjp(xs, [np.ones_like(y) for y in self.forward(xs, dtype)], dtype)
        if found:
            return f"{found[0].operator} makes less than {dtype} inside"
        return super()._narrowing(native, xs, dtype)

    def _inner_dtype(self, native: Sequence[Array]) -> str:
        """Also 16 bits, if an operator makes them of float32, as autocast does.

        Their treads are as long as steps of differences: the noise of f does not show them all.
        """
        found = super()._inner_dtype(native)
        if self.dtype == SHADOW and not found:
            return ""
        with torch_state.narrowing_casts("float32") as casts:
            self.forward([put.value.copy() for put in self.inputs], self.dtype)
        return casts[0].dtype if casts else found

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, self._torch.Tensor)

    def _dtype(self, tensor: Any) -> str:
        return name_of_dtype(tensor.dtype)

    def _array(self, tensor: Any) -> Array:
        tensor = tensor.detach()
        try:
            plain: Array = tensor.numpy()
            if plain.dtype.kind != "c":
                return plain
        except (TypeError, RuntimeError):  # it is no plain tensor
            pass
        if tensor.layout is not self._torch.strided:
            tensor = tensor.to_dense()
        if tensor._is_zerotensor():
            tensor = tensor.new_zeros(tensor.shape)
        if tensor.is_complex():
            tensor = self._parts(tensor)
        tensor = tensor.cpu().resolve_neg()
        if tensor.dtype is self._torch.bfloat16:
            bits: Array = tensor.contiguous().view(self._torch.int16).numpy()
            return bits.view(numpy_dtype("bfloat16"))
        array: Array = tensor.numpy()
        return array

    def _tensor(self, array: Array, like: Any) -> Any:
        shared = array if array.flags.writeable else same_strides(array)
        if shared.itemsize == 2 and shared.dtype == numpy_dtype("bfloat16"):
            tensor = self._torch.from_numpy(shared.view(np.int16)).view(self._torch.bfloat16)
        else:
            tensor = self._torch.from_numpy(shared)
        if not shared.size:  # NumPy gives it strides of 0
            tensor = tensor.new_empty(tensor.shape)
        if not like.is_cpu:
            tensor = tensor.to(like.device)
        if self._lent is not None:
            self._lent[id(tensor)] = torch_state.Loan(shared, tensor)
        return tensor

    def _points(self, xs: Sequence[Array], dtype: str) -> list[Any]:
        points = super()._points(xs, dtype)
        return [point.requires_grad_() for point in points] if self._has_graph else points

    def _arguments(self, points: Sequence[Any], dtype: str) -> Any:
        # In a graph clones, because f may change its arguments in place, but no leaf.
        if self._are_plain:
            clones = [point.clone() for point in points] if self._has_graph else points
        else:
            clones = list(map(self._laid_out, points, self._likes))
        if self._lent is not None:
            for point, clone in zip(points, clones, strict=True):
                self._lent[id(point)].hand_on(clone)
        return super()._arguments(clones, dtype)

    @functools.cached_property
    def _are_plain(self) -> bool:
        return all(like.is_contiguous() and not like.is_complex() for like in self._likes)

    def _laid_out(self, point: Any, like: Any) -> Any:
        """One that is no leaf of a graph, with the strides of `like` where elements are apart."""
        if like.is_complex():
            point = self._torch.view_as_complex(point)
        if like.is_contiguous() or _is_shared(like):
            return point.clone() if self._has_graph else point
        return point.detach().new_empty_strided(like.shape, like.stride()).copy_(point)

    def _parts(self, tensor: Any) -> Any:
        return self._torch.view_as_real(tensor.resolve_conj())

    def _cast(self, tensor: Any, dtype: str) -> Any:
        if tensor.is_complex():
            return tensor.to(self._torch.complex128)
        return tensor.to(getattr(self._torch, dtype))

    def _copy(self, tensor: Any) -> Any:
        return tensor.detach().clone()

    def _imports(self) -> list[str]:
        return ["import torch"]

    def _literal(self, tensor: Any) -> str | None:
        return f"torch.tensor({tensor.tolist()}, dtype={tensor.dtype})"


def _is_shared(tensor: Any) -> bool:
    """Whether several elements are one number in memory."""
    return any(n > 1 and not step for n, step in zip(tensor.shape, tensor.stride(), strict=True))


def _is_function(value: Any) -> bool:
    """Whether this is a subclass of torch.autograd.Function."""
    return isinstance(value, type) and issubclass(value, sys.modules["torch"].autograd.Function)
