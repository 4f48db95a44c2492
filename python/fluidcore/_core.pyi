# Made by tools/make_stubs.py from the extension module; not to be edited.
"""
C++ core of fluidcore.
"""
from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import typing
import typing_extensions
__all__: list[str] = ['BlockDesc', 'BlockIndex', 'COMPILED_WITH_CUDA', 'CPUPlace', 'CUDAPlace', 'CallableFunction', 'CallableGradient', 'Communicator', 'Definition', 'Derivatives', 'Deviation', 'Directional', 'EMPTY_VAR_NAME', 'EffectsOfBlocks', 'ElementCheck', 'Error', 'Executor', 'Formula', 'Function', 'GRAD_VAR_SUFFIX', 'Gradient', 'InvalidArgument', 'Judgement', 'KernelCheck', 'KernelTest', 'NoiseLevel', 'NotFound', 'OpDef', 'OpDesc', 'OutOfTime', 'Profile', 'ProgramDesc', 'ProgramFunction', 'Proof', 'RankFailed', 'Repetition', 'Rules', 'Scope', 'SelectedRows', 'Tensor', 'TimeLimit', 'TimedOut', 'VarDesc', 'Variable', 'blind_spot', 'check_directions', 'check_infinite', 'check_linear', 'cpu_isa', 'decomposition_of', 'define_op', 'difference', 'differentiate', 'differentiate_along', 'dtype_name', 'dtype_number', 'error_statistics', 'get_cuda_device_count', 'get_grad_op_desc', 'grad_var_name', 'judge', 'load_op_library', 'may_be_infinite', 'measure_noise', 'narrowed_to', 'needed_ops', 'noise_floor', 'onednn_version', 'op_def', 'op_types', 'prove_jointly', 'round_direction', 'round_to', 'same_bits', 'slope_along', 'thread_group', 'unit_roundoff', 'version']
class TimeLimit:
    """
    A context manager: ends what this thread calculates with OutOfTime.
    """
    def __enter__(self) -> None:
        ...
    def __exit__(self, *args: typing.Any) -> None:
        ...
    def __init__(self, seconds: typing.SupportsFloat | typing.SupportsIndex | None) -> None:
        """
        None: no limit.
        """
class BlockDesc:
    """
    One block of a program: operators and variables.
    """
    def __eq__(self, arg0: object) -> bool:
        ...
    def __hash__(self) -> int:
        ...
    def add_op(self, type: str, inputs: collections.abc.Mapping[str, collections.abc.Sequence[str]], outputs: collections.abc.Mapping[str, collections.abc.Sequence[str]], attrs: dict[str, typing.Any] = {}, call_site: str = '', index: typing.SupportsInt | typing.SupportsIndex = -1) -> OpDesc:
        """
        Checks, completes and infers the operator, then adds it. On error nothing has changed.
        """
    def all_vars(self) -> list[VarDesc]:
        ...
    def append_op(self) -> OpDesc:
        ...
    def find_var(self, name: str) -> VarDesc:
        ...
    def find_var_recursive(self, name: str) -> VarDesc:
        """
        Here or in a block around this one.
        """
    def forward_block_idx(self) -> int:
        ...
    def has_var(self, name: str) -> bool:
        ...
    def has_var_recursive(self, name: str) -> bool:
        ...
    def id(self) -> int:
        ...
    def insert_op(self, index: typing.SupportsInt | typing.SupportsIndex) -> OpDesc:
        ...
    def op(self, index: typing.SupportsInt | typing.SupportsIndex) -> OpDesc:
        ...
    def op_size(self) -> int:
        ...
    def ops(self) -> list[OpDesc]:
        ...
    def parent(self) -> int:
        ...
    def prepend_op(self) -> OpDesc:
        ...
    def remove_op(self, first: typing.SupportsInt | typing.SupportsIndex, last: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Removes the operators [first, last).
        """
    def remove_vars(self, names: collections.abc.Sequence[str]) -> None:
        ...
    def rename_var(self, old: str, new: str) -> None:
        ...
    def set_forward_block_idx(self, idx: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Of a gradient block: the block that it is the gradient of; -1: none.
        """
    def var(self, name: str) -> VarDesc:
        """
        The variable, created if there is none.
        """
class BlockIndex:
    """
    The value of an attribute that names a block.
    """
    def __eq__(self, arg0: object) -> bool:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, value: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def __repr__(self) -> str:
        ...
    @property
    def value(self) -> int:
        ...
class OpDesc:
    """
    One operator as data: type, slots, attributes.
    """
    def __init__(self, type: str = '', inputs: collections.abc.Mapping[str, collections.abc.Sequence[str]] = {}, outputs: collections.abc.Mapping[str, collections.abc.Sequence[str]] = {}, attrs: dict[str, typing.Any] = {}) -> None:
        ...
    def __repr__(self) -> str:
        ...
    def __str__(self) -> str:
        ...
    def attr(self, name: str) -> typing.Any:
        ...
    def attr_names(self) -> list[str]:
        ...
    def attrs(self) -> dict[str, typing.Any]:
        ...
    def block_attr(self, name: str) -> int:
        ...
    def call_site(self) -> str:
        """
        Where the user added it: 'train.py:41', or ''.
        """
    def copy_from(self, other: OpDesc) -> None:
        ...
    def has_attr(self, name: str) -> bool:
        ...
    def infer_shape(self, block: BlockDesc) -> None:
        """
        Completes the attributes and sets what the outputs are.
        """
    def input(self, slot: str) -> list[str]:
        ...
    def input_arg_names(self) -> list[str]:
        """
        Names in all input slots.
        """
    def inputs(self) -> dict[str, list[str]]:
        """
        Slot -> names of variables.
        """
    def output(self, slot: str) -> list[str]:
        ...
    def output_arg_names(self) -> list[str]:
        """
        Names in all output slots.
        """
    def outputs(self) -> dict[str, list[str]]:
        """
        Slot -> names of variables.
        """
    def remove_input(self, slot: str) -> None:
        ...
    def rename_input(self, old: str, new: str) -> None:
        ...
    def rename_output(self, old: str, new: str) -> None:
        ...
    def set_attr(self, name: str, value: typing.Any) -> None:
        ...
    def set_block_attr(self, name: str, index: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def set_call_site(self, site: str) -> None:
        ...
    def set_input(self, slot: str, names: collections.abc.Sequence[str]) -> None:
        ...
    def set_output(self, slot: str, names: collections.abc.Sequence[str]) -> None:
        ...
    def set_type(self, type: str) -> None:
        ...
    def type(self) -> str:
        ...
class VarDesc:
    """
    One variable as data.
    """
    def __repr__(self) -> str:
        ...
    def __str__(self) -> str:
        ...
    def dtype(self) -> str:
        ...
    def error_clip(self) -> tuple[float, float] | None:
        """
        The bounds (min, max) that backward clips the gradient to; None: no bounds.
        """
    def is_data(self) -> bool:
        ...
    def is_parameter(self) -> bool:
        ...
    def lod_level(self) -> int:
        ...
    def name(self) -> str:
        ...
    def persistable(self) -> bool:
        ...
    def set_dtype(self, dtype: str) -> None:
        ...
    def set_error_clip(self, bounds: tuple[typing.SupportsFloat | typing.SupportsIndex, typing.SupportsFloat | typing.SupportsIndex] | None) -> None:
        ...
    def set_is_data(self, value: bool) -> None:
        ...
    def set_is_parameter(self, value: bool) -> None:
        ...
    def set_lod_level(self, level: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def set_persistable(self, value: bool) -> None:
        ...
    def set_shape(self, shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
        ...
    def set_stop_gradient(self, value: bool) -> None:
        ...
    def set_trainable(self, value: bool) -> None:
        ...
    def set_type(self, type: str) -> None:
        ...
    def shape(self) -> list[int]:
        """
        Extents; -1 where only known at run time.
        """
    def stop_gradient(self) -> bool:
        ...
    def trainable(self) -> bool:
        ...
    def type(self) -> str:
        """
        'lod_tensor', 'selected_rows', or 'lod_tensor_array': shape and dtype are those of its elements.
        """
class ProgramDesc:
    """
    A program as data.
    """
    @staticmethod
    @typing.overload
    def parse_from_string(text: bytes) -> ProgramDesc:
        ...
    @staticmethod
    @typing.overload
    def parse_from_string(text: str) -> ProgramDesc:
        ...
    def __init__(self) -> None:
        ...
    def __str__(self) -> str:
        ...
    @typing.overload
    def append_block(self, parent: BlockDesc) -> BlockDesc:
        ...
    @typing.overload
    def append_block(self, parent: typing.SupportsInt | typing.SupportsIndex) -> BlockDesc:
        ...
    def block(self, idx: typing.SupportsInt | typing.SupportsIndex) -> BlockDesc:
        ...
    def clone(self) -> ProgramDesc:
        ...
    def keep_blocks(self, indices: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
        """
        Removes all blocks but these and numbers those that stay anew.
        """
    def num_blocks(self) -> int:
        ...
    def random_seed(self) -> int:
        ...
    def remove_blocks(self, first: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Removes the blocks from index `first` on.
        """
    def revision(self) -> int:
        """
        Grows with every change of the program.
        """
    def serialize_to_string(self) -> str:
        """
        The program as JSON text.
        """
    def set_random_seed(self, seed: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
class EffectsOfBlocks:
    """
    What blocks of a program do to the variables around them; each is found once, and must stay as it is from then on.
    """
    def __init__(self, program: ProgramDesc) -> None:
        ...
    def of(self, idx: typing.SupportsInt | typing.SupportsIndex) -> tuple[list[str], list[str]]:
        """
        The variables of outer blocks that a block reads, and those that it writes.
        """
class OpDef:
    """
    What an operator is: slots, attributes, kernels.
    """
    class Slot:
        @property
        def array(self) -> bool:
            """
            Holds a tensor array.
            """
        @property
        def doc(self) -> str:
            ...
        @property
        def intermediate(self) -> bool:
            ...
        @property
        def list(self) -> bool:
            ...
        @property
        def may_be_float32(self) -> bool:
            """
            May be float32 where the other variables have 16 bits.
            """
        @property
        def may_be_unset(self) -> bool:
            """
            Need not have a value, and then is not read.
            """
        @property
        def name(self) -> str:
            ...
        @property
        def needs_no_gradient(self) -> bool:
            """
            Nothing passes that would need a gradient.
            """
        @property
        def no_gradient(self) -> bool:
            """
            Values pass, gradients do not.
            """
        @property
        def of_block(self) -> bool:
            """
            Lists what the operator's block reads or writes.
            """
        @property
        def only_rows(self) -> bool:
            """
            Holds selected rows.
            """
        @property
        def optional(self) -> bool:
            ...
        @property
        def read_for(self) -> str:
            """
            The only output for which the elements are read; empty if there is none.
            """
        @property
        def rows(self) -> bool:
            """
            Holds a tensor or selected rows.
            """
        @property
        def shape_only(self) -> bool:
            ...
    class Attr:
        @property
        def choices(self) -> list[str]:
            ...
        @property
        def default(self) -> typing.Any:
            ...
        @property
        def doc(self) -> str:
            ...
        @property
        def name(self) -> str:
            ...
        @property
        def required(self) -> bool:
            ...
        @property
        def type(self) -> str:
            ...
    def num_rows(self, op_desc: OpDesc, slot: str, shapes: collections.abc.Mapping[str, collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]]]) -> int:
        """
        How many rows of an input, its leading dimensions, do not depend on each other, for inputs of these shapes by slot; 0: nothing is known.
        """
    @property
    def attrs(self) -> list[OpDef.Attr]:
        ...
    @property
    def decomposes_by_specs(self) -> bool:
        """
        Its decomposition is made for certain specs of the inputs.
        """
    @property
    def doc(self) -> str:
        ...
    @property
    def has_decomposition(self) -> bool:
        """
        It can be rewritten into operators that have gradients.
        """
    @property
    def has_grad(self) -> bool:
        ...
    @property
    def inputs(self) -> list[OpDef.Slot]:
        ...
    @property
    def is_constant(self) -> bool:
        """
        append_backward treats its outputs as constants.
        """
    @property
    def is_its_decomposition(self) -> bool:
        """
        Programs get its decomposition in its place.
        """
    @property
    def is_random(self) -> bool:
        """
        It draws random numbers: calculated again, it gives others.
        """
    @property
    def kernels(self) -> list[tuple[str, str]]:
        """
        Pairs of device and dtype.
        """
    @property
    def outputs(self) -> list[OpDef.Slot]:
        ...
    @property
    def runs_block(self) -> bool:
        """
        Runs the block of its attribute sub_block.
        """
    @property
    def type(self) -> str:
        ...
class Tensor:
    """
    A dense, row-major block of memory with a shape and a dtype.
    """
    @staticmethod
    def from_dlpack(source: typing.Any, copy: bool = False) -> Tensor:
        """
        A view of another library's tensor. One that is not dense and row-major needs a copy: an error unless `copy`.
        """
    def __array__(self, dtype: typing.Any = None, copy: typing.Any = None) -> typing.Any:
        ...
    def __dlpack__(self, **kwargs: typing.Any) -> typing_extensions.CapsuleType:
        ...
    def __dlpack_device__(self) -> tuple[int, int]:
        ...
    @typing.overload
    def __init__(self) -> None:
        ...
    @typing.overload
    def __init__(self, lod: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]]) -> None:
        """
        A tensor without memory whose rows have levels.
        """
    def __repr__(self) -> str:
        ...
    def alloc_float(self, place: typing.Any = None) -> None:
        """
        New memory for the extents, float32 zeros.
        """
    def alloc_int(self, place: typing.Any = None) -> None:
        """
        New memory for the extents, int32 zeros.
        """
    def device(self) -> str:
        """
        Where the memory is: "cpu" or "cuda:0".
        """
    def dtype(self) -> str:
        ...
    def get_dims(self) -> list[int]:
        ...
    def get_double_element(self, index: typing.SupportsInt | typing.SupportsIndex) -> float:
        """
        `get_float_element`, which is a double anyway.
        """
    def get_float_element(self, index: typing.SupportsInt | typing.SupportsIndex) -> float:
        """
        Element `index` of the flattened tensor.
        """
    def is_initialized(self) -> bool:
        ...
    def lod(self) -> list[list[int]]:
        """
        The offsets of nested sequences in the rows, level by level, as set_lod set them.
        """
    def numpy(self) -> typing.Any:
        """
        A view of the memory as a NumPy array; a copy where the memory is a GPU's.
        """
    def set(self, array: typing.Any, place: typing.Any = None) -> None:
        """
        Copies the array into new memory.
        """
    def set_dims(self, dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
        """
        Other extents: the first elements stay; where there are not as many, the tensor has no memory until it is allocated or set.
        """
    def set_double_element(self, index: typing.SupportsInt | typing.SupportsIndex, value: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        `set_float_element`.
        """
    def set_float_element(self, index: typing.SupportsInt | typing.SupportsIndex, value: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        Sets element `index` of the flattened tensor.
        """
    def set_lod(self, lod: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]]) -> None:
        """
        Says where nested sequences begin in the rows. This object keeps it; no operator looks at it, and what a run returns has none.
        """
    def shape(self) -> list[int]:
        ...
    def size(self) -> int:
        """
        The number of elements.
        """
    def to(self, place: typing.Any) -> Tensor:
        """
        A copy at the place; where it is there already, one that shares the memory.
        """
class SelectedRows:
    """
    Rows that stand for a tensor that is 0 in all others: the gradient of a table of which a few rows were read. The values of a row that is there twice add up.
    """
    def __array__(self, dtype: typing.Any = None, copy: typing.Any = None) -> typing.Any:
        ...
    def __init__(self, rows: typing.Any, value: typing.Any, height: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def __repr__(self) -> str:
        ...
    def to_dense(self) -> typing.Any:
        """
        The tensor, as an array.
        """
    @property
    def height(self) -> int:
        """
        How many rows the tensor has.
        """
    @property
    def rows(self) -> typing.Any:
        """
        int64 [n]: the numbers of the rows, in any order.
        """
    @property
    def shape(self) -> tuple[int, ...]:
        """
        That of the tensor.
        """
    @property
    def value(self) -> typing.Any:
        """
        [n, ...]: their values.
        """
class Communicator:
    """
    A member of a group of processes, or threads, that train together.
    """
    def __init__(self, rank: typing.SupportsInt | typing.SupportsIndex, size: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def fail(self, why: str) -> None:
        """
        Tells the other ranks that this one cannot go on.
        """
    def gather(self, own: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], label: str) -> numpy.typing.NDArray[numpy.int64]:
        """
        Whole numbers of every rank, int64 [size, len(own)]; all ranks give as many.
        """
    def transport(self, place: typing.Any) -> str:
        """
        How tensors of a device are exchanged, "nccl" or "host"; all ranks call it.
        """
    @property
    def rank(self) -> int:
        """
        Which member this is, from 0.
        """
    @property
    def size(self) -> int:
        """
        How many members there are.
        """
class CPUPlace:
    """
    The processor.
    """
    def __init__(self) -> None:
        ...
    def __repr__(self) -> str:
        ...
class CUDAPlace:
    """
    A CUDA device.
    """
    def __init__(self, id: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        ...
    def __repr__(self) -> str:
        ...
    @property
    def id(self) -> int:
        """
        Which GPU, from 0.
        """
class Variable:
    """
    What a Scope holds under a name.
    """
    def get_selected_rows(self) -> SelectedRows:
        """
        A copy of the selected rows that it holds.
        """
    def get_tensor(self) -> Tensor:
        ...
class Scope:
    """
    Names -> variables that live between runs.
    """
    def __init__(self) -> None:
        ...
    def __repr__(self) -> str:
        ...
    def drop_kids(self) -> None:
        """
        Empties the children.
        """
    def erase(self, names: collections.abc.Sequence[str]) -> None:
        ...
    def find_var(self, name: str) -> Variable:
        """
        The variable here or above, or None.
        """
    def local_var_names(self) -> list[str]:
        ...
    def new_scope(self) -> Scope:
        """
        A child of this scope.
        """
    def snapshot(self, names: collections.abc.Sequence[str]) -> list[Tensor]:
        """
        Copies of the variables, here or above, all as they are between two runs.
        """
    def to(self, place: typing.Any) -> None:
        """
        Moves what the variables here hold to another place.
        """
    def var(self, name: str) -> Variable:
        """
        The variable here, created if there is none.
        """
class Profile:
    """
    Which operators ran, and how long each took.
    """
    def __init__(self) -> None:
        ...
    def add_communication(self, label: str, seconds: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        Tells of a communication that has ended now, and took so long.
        """
    def content(self) -> dict[str, typing.Any]:
        """
        `operators`: (type, note) of each; `events`: (operator, thread, begin, duration, inside, bytes, flops) in nanoseconds, where `inside` is the part of the duration that the operators of a block took; those of a block come before the operator that runs it; `communications`: (label, begin, duration).
        """
class Executor:
    """
    Finds or builds the plan of a program, and runs it.
    """
    def __init__(self, place: typing.Any, allow_cpu_fallback: bool = False, waits: bool = False) -> None:
        ...
    def cached_plans(self) -> int:
        ...
    def close(self) -> None:
        """
        Forgets every plan.
        """
    def listing(self, program: ProgramDesc, feed: dict[str, typing.Any], fetch_list: collections.abc.Sequence[str], scope: Scope, skipped_passes: collections.abc.Sequence[str] = []) -> str:
        """
        The steps of the plan that a run would make, after all passes, as text.
        """
    def next_state(self, program: ProgramDesc) -> tuple[int, int]:
        """
        The seed and the number of the program's next run.
        """
    def run(self, program: ProgramDesc, feed: dict[str, typing.Any], fetch_list: collections.abc.Sequence[str], scope: Scope, threads: typing.SupportsInt | typing.SupportsIndex = 1, check_nan: bool = False, return_numpy: bool = False, timeout: typing.SupportsFloat | typing.SupportsIndex | None = None, profile: Profile | None = None, skipped_passes: collections.abc.Sequence[str] = [], communicator: Communicator | None = None) -> list[typing.Any]:
        """
        Runs block 0, for `timeout` seconds at most; returns copies of the fetched variables.
        """
    def set_next_state(self, program: ProgramDesc, seed: typing.SupportsInt | typing.SupportsIndex, step: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Lets the program draw random numbers as in the run that next_state told of.
        """
class Definition:
    """
    Operators that were added.
    """
    def take_back(self) -> None:
        """
        Puts back what there was before.
        """
    @property
    def types(self) -> list[str]:
        """
        Their names, sorted.
        """
class Function:
    """
    y = f(x), what is differentiated.
    """
    def inputs(self) -> list[Tensor]:
        """
        The point: who changes an element puts the old value back.
        """
    def run(self) -> list[Tensor]:
        """
        Copies of the outputs at the inputs as they are now.
        """
class ProgramFunction(Function):
    """
    What a program calculates from fed values.
    """
    def __init__(self, program: ProgramDesc, feeds: dict[str, typing.Any], inputs: collections.abc.Sequence[str], outputs: collections.abc.Sequence[str], seed: typing.SupportsInt | typing.SupportsIndex = 0, threads: typing.SupportsInt | typing.SupportsIndex = 1) -> None:
        """
        Every value, parameters too, is in `feeds`; `inputs` are those to differentiate by.
        """
class CallableFunction(Function):
    """
    A Python function of arrays.
    """
    def __init__(self, f: typing.Any, inputs: collections.abc.Iterable[typing.Any]) -> None:
        """
        f takes a list[typing.Any] of arrays, its own copies, and returns a list[typing.Any] of floating arrays.
        """
class Gradient:
    """
    The claimed gradient of <v, f> by all inputs.
    """
class CallableGradient(Gradient):
    """
    A Python function of arrays.
    """
    def __init__(self, vjp: typing.Any, inputs: typing.Any, has_fixed_cotangent: bool = False) -> None:
        """
        vjp takes a list[typing.Any] of points and a list[typing.Any] of cotangents, which it must not change, and returns a list[typing.Any] of floating arrays. `inputs`: the point, or a function that returns it.
        """
class Derivatives:
    """
    Derivatives of <v, f> by elements of an input, with error bars; arrays of [cotangents, elements].
    """
    def __init__(self, value: numpy.ndarray, error: typing.Any, low: typing.Any, high: typing.Any, scale: typing.Any, flags: typing.Annotated[numpy.typing.ArrayLike, numpy.uint8]) -> None:
        ...
    def alone_tolerance(self, dtype: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        The rounding of a gradient without float64 form.
        """
    def formula_tolerance(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Below it a formula in float64 is as good as any other.
        """
    def measure(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        What errors of each element are compared with.
        """
    def padded_scale(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The scale, at least 1 % of the greatest.
        """
    @property
    def error(self) -> numpy.ndarray:
        """
        How far the truth may be from the value or outside of the hull.
        """
    @property
    def evaluations(self) -> int:
        """
        How often f ran.
        """
    @property
    def failure(self) -> str | None:
        """
        The text of the first exception at a moved point, or None.
        """
    @property
    def flags(self) -> numpy.ndarray:
        """
        For each element: 1 kink, 2 jump, 4 domain, 8 absorbed, 16 subgradient.
        """
    @property
    def high(self) -> numpy.ndarray:
        """
        [low, high] holds the one-sided derivatives at a kink.
        """
    @property
    def levels(self) -> list[typing.Any]:
        """
        (h, difference, noise, phi_plus, phi_minus, phi_0) of each step size, projected on the first cotangent.
        """
    @property
    def low(self) -> numpy.ndarray:
        ...
    @property
    def scale(self) -> numpy.ndarray:
        """
        The sum of |v_j G_ij|.
        """
    @property
    def value(self) -> numpy.ndarray:
        ...
class NoiseLevel:
    """
    The rounding noise of every output, [m] or nothing.
    """
    def __init__(self) -> None:
        ...
    def at_least(self, least: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> NoiseLevel:
        """
        The larger of both, output by output; empty is 0.
        """
    @property
    def far(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        On a wide line; empty where it is the same.
        """
    @property
    def near(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        On the shortest lines that tell it from f itself.
        """
class Repetition:
    """
    What runs of the same code at one point differ by.
    """
    def __init__(self, first: numpy.typing.NDArray[numpy.float64], at_least: typing.SupportsInt | typing.SupportsIndex = 2) -> None:
        ...
    def add(self, run: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> None:
        ...
    def is_rounding(self, dtype: str) -> bool:
        """
        Whether rounding in another order explains it, in sums of `dtype`.
        """
    @property
    def deviation(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Of each value, from run to run; empty if all repeat.
        """
    @property
    def is_random(self) -> bool:
        """
        Whether differences of such code tell nothing.
        """
    @property
    def margin(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        What error bars must allow for: four deviations of each value.
        """
    @property
    def repeats(self) -> bool:
        """
        Whether all gave the same.
        """
    @property
    def runs(self) -> int:
        ...
    @property
    def size(self) -> float:
        """
        The largest value of the first run.
        """
    @property
    def wants_more(self) -> bool:
        """
        Whether to run again.
        """
    @property
    def worst(self) -> float:
        """
        The largest deviation.
        """
class Rules:
    """
    When a difference is an error.
    """
    @staticmethod
    def of(dtype: str, alone: bool) -> Rules:
        """
        Those of a dtype; `alone` where there is no float64 form to compare with.
        """
    @staticmethod
    def of_formula(dtype: str) -> Rules:
        """
        Those of the float64 form of gradient code of a dtype.
        """
    def __init__(self, *, bars: typing.SupportsFloat | typing.SupportsIndex = 3.0, resolution: typing.SupportsFloat | typing.SupportsIndex = 1e-05, allow_open: typing.SupportsFloat | typing.SupportsIndex = 0.0, on_kink: str = 'subgradient', tolerance: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        ...
    def with_tolerance(self, part: typing.SupportsFloat | typing.SupportsIndex) -> Rules:
        """
        The same for gradients that are right to a relative error.
        """
    @property
    def allow_open(self) -> float:
        """
        The part of the gradient that need not be proven for a PASS.
        """
    @property
    def bars(self) -> float:
        """
        How many error bars the truth may be off.
        """
    @property
    def resolution(self) -> float:
        """
        The relative error that a PASS must be able to see.
        """
    @property
    def tolerance(self) -> float:
        """
        A relative error that is right.
        """
class Judgement:
    """
    The verdict on each element: [cotangents, elements].
    """
    def doubts(self, flags: typing.Annotated[numpy.typing.ArrayLike, numpy.uint8]) -> list[str]:
        """
        Why what is unsure cannot be judged, the most frequent reason first.
        """
    def is_proven(self) -> bool:
        """
        Whether nothing is wrong or unsure.
        """
    def open(self) -> numpy.ndarray:
        """
        [elements]: where more is unsure than may stay open, or a measurement has refuted it.
        """
    def worst(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64]]:
        """
        [elements]: the cotangent by which each is off the most, a wrong one first, and by how many limits.
        """
    @property
    def analytical(self) -> numpy.ndarray:
        """
        What is claimed.
        """
    @property
    def counted(self) -> numpy.ndarray:
        """
        [elements].
        """
    @property
    def limit(self) -> numpy.ndarray:
        """
        The greatest right distance.
        """
    @property
    def measure(self) -> numpy.ndarray:
        """
        What errors are compared with.
        """
    @property
    def nearest(self) -> numpy.ndarray:
        """
        The right value that is nearest to it.
        """
    @property
    def num_imprecise(self) -> int:
        """
        Elements of a kernel that are less precise than its dtype allows.
        """
    @property
    def resolution(self) -> numpy.ndarray:
        """
        The smallest relative error that would have been seen.
        """
    @property
    def spread(self) -> numpy.ndarray:
        """
        Of a kernel: the deviation of its differences from the formula; 0 where the point alone proves it.
        """
    @property
    def unsure(self) -> numpy.ndarray:
        """
        What is neither proven nor refuted.
        """
    @property
    def verdict(self) -> str:
        """
        pass, fail or inconclusive.
        """
    @property
    def wrong(self) -> numpy.ndarray:
        ...
class Directional:
    """
    What random directions tell of a gradient.
    """
    @property
    def culprits(self) -> list[tuple[int, Derivatives, Judgement]]:
        """
        Wrong elements, what they were compared with, and the verdict on each.
        """
    @property
    def evaluations(self) -> int:
        """
        How often f ran.
        """
    @property
    def judgement(self) -> Judgement:
        """
        [1, directions].
        """
    @property
    def min_detectable_99(self) -> float:
        """
        The error of a single element that is found with a probability of 99 %, relative to the root mean square of the gradient.
        """
    @property
    def reference(self) -> Derivatives:
        """
        [1, directions], levels of the first.
        """
class ElementCheck:
    """
    The verdict on each element of a gradient.
    """
    @property
    def along(self) -> Derivatives | None:
        """
        The derivative along the direction that tests independent rows, or None.
        """
    @property
    def heights(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [cotangents]: f over x, where the gradient is 0 as far as that tells; else None.
        """
    @property
    def judgement(self) -> Judgement:
        ...
    @property
    def reference(self) -> Derivatives:
        """
        The numerical derivatives.
        """
class Formula:
    """
    Gradient code in the dtype in which f is differentiated.
    """
    def __init__(self, function: Function, gradient: Gradient | None, cotangents: collections.abc.Iterable[typing.Any], outputs: collections.abc.Iterable[typing.Any], rules: Rules, *, alone: bool, noise: NoiseLevel = ..., seed: typing.SupportsInt | typing.SupportsIndex = 0, workers: typing.SupportsInt | typing.SupportsIndex = 1, copies: typing.Any = None, fewest_copies: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        ...
    def check_elements(self, input: typing.SupportsInt | typing.SupportsIndex, elements: typing.Any, *, rows: typing.SupportsInt | typing.SupportsIndex, direction: typing.Any, claimed: typing.Any, deviation: typing.Any = None, overflows: typing.Any = None, made_in: str | None = None) -> ElementCheck | None:
        """
        The verdict on each element; None where rows depend on each other that promise not to.
        """
    def differentiate(self, input: typing.SupportsInt | typing.SupportsIndex, elements: typing.Any, *, rows: typing.SupportsInt | typing.SupportsIndex, direction: typing.Any) -> Derivatives | None:
        """
        The derivatives by elements, whatever the gradient is; None as below.
        """
    @property
    def evaluations(self) -> int:
        """
        How often f ran.
        """
    @property
    def runs_on_copies(self) -> bool:
        """
        Whether f is not known to fail on many copies of the point at once.
        """
    @runs_on_copies.setter
    def runs_on_copies(self, arg0: bool) -> None:
        ...
class Deviation:
    """
    The element that is off the most.
    """
    @property
    def element(self) -> int:
        ...
    @property
    def expected(self) -> float:
        ...
    @property
    def found(self) -> float:
        ...
    @property
    def verdict(self) -> str:
        """
        Whether that is no more than rounding allows for; INCONCLUSIVE where it is, and scatters as much for other cotangents.
        """
class Proof:
    """
    What one direction says of the gradient A by one input.
    """
    @property
    def analytical(self) -> float:
        """
        <A, d>.
        """
    @property
    def error(self) -> float:
        """
        Its error bar.
        """
    @property
    def levels(self) -> list[typing.Any]:
        """
        (h, difference, noise, remainder) of each step along all inputs.
        """
    @property
    def min_detectable_99(self) -> float:
        """
        The error of any one element that would have been reported, relative to the root mean square of the gradient.
        """
    @property
    def numerical(self) -> float:
        """
        The same by differences, if the other inputs are right.
        """
    @property
    def resolution(self) -> float:
        """
        The relative error of <A, d> that would have been reported.
        """
class KernelCheck:
    """
    The verdict on each element of a kernel's gradient.
    """
    @property
    def detectable(self) -> float:
        """
        The relative error that is found in 99 % of cases.
        """
    @property
    def exact(self) -> Derivatives | None:
        """
        What it was compared with; None for the differences of the formula's check.
        """
    @property
    def judgement(self) -> Judgement:
        ...
    @property
    def narrowed_to(self) -> str | None:
        """
        The narrower dtype that the gradient went through, or None.
        """
class KernelTest:
    """
    Compares a gradient with the same in float64: is a difference rounding, or a fault?
    """
    def __init__(self, kernel: Gradient, formula: Gradient, function: Function, cotangents: collections.abc.Iterable[typing.Any], seed: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        """
        `function` is f in float64; `cotangents` are lists of outputs, in the kernel's dtype.
        """
    def check(self, input: typing.SupportsInt | typing.SupportsIndex, elements: typing.Any, formula: typing.Any, kernel: typing.Any, rules: Rules, judged: ElementCheck | None) -> KernelCheck:
        """
        The whole comparison by elements of one input; `judged` is what is known of the formula's, None where that was looked at along directions.
        """
    def judge(self, input: typing.SupportsInt | typing.SupportsIndex, elements: typing.Any, formula: typing.Any, kernel: typing.Any, reference: Derivatives, rules: Rules, unsure: typing.Any = None) -> Judgement:
        """
        The verdict on elements of the gradient by one input, `kernel`. `formula` is that in float64, `reference` what it was compared with; where it is `unsure`, [elements], nothing is known of kinks.
        """
    def prove(self, input: typing.SupportsInt | typing.SupportsIndex, formula: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], kernel: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], rules: Rules) -> tuple[float, float] | None:
        """
        The resolution and the error that is found in 99 % of cases, where all elements of one input are proven for the one cotangent; else None.
        """
    @property
    def evaluations(self) -> int:
        """
        How often f ran.
        """
def blind_spot(probes: typing.SupportsInt | typing.SupportsIndex) -> float:
    """
    An error of one element of limit / blind_spot escapes so many directions in 1 % of cases.
    """
def check_directions(function: Function, input: typing.SupportsInt | typing.SupportsIndex, directions: collections.abc.Iterable[typing.Any], cotangents: collections.abc.Iterable[typing.Any], gradients: collections.abc.Iterable[typing.Any], rules: Rules, *, alone: str | None = None, gradient: Gradient | None = None, noise: NoiseLevel = ..., seed: typing.SupportsInt | typing.SupportsIndex = 0, workers: typing.SupportsInt | typing.SupportsIndex = 1) -> Directional:
    """
    Compares gradients by one input, one for each cotangent, with derivatives along as many directions, and looks for wrong elements by halves; `alone`: their dtype, where there is no float64 form; `gradient`: the code, which tells what its own rounding is, and of which branches of the function it is the gradient.
    """
def check_infinite(function: Function, input: typing.SupportsInt | typing.SupportsIndex, gradient: typing.Any, cotangent: typing.Any, *, bars: typing.SupportsFloat | typing.SupportsIndex, noise: typing.Any = None) -> tuple[numpy.typing.NDArray[numpy.bool] | None, int]:
    """
    [n]: where a gradient that is not finite may be infinite, None where it is wrong; and the evaluations of f.
    """
def check_linear(gradients: typing.Any, factor: typing.SupportsFloat | typing.SupportsIndex, *, dtype: str, points: list[typing.Any], spreads: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], tolerance: typing.SupportsFloat | typing.SupportsIndex, weight: typing.Any, cotangents: typing.Any, at: typing.Any, seed: typing.SupportsInt | typing.SupportsIndex) -> list[Deviation | None]:
    """
    By input: where found is off factor * first + second the most, if anywhere. `gradients`, and what at(cotangents) returns, are (found, first, second or None), in `dtype`. The functions are called only where something seems wrong: weight(), the sum of |v y|, and cotangents(), of first and second.
    """
def cpu_isa() -> str:
    """
    The instruction set that kernels use: 'baseline', 'avx2' or 'avx512'.
    """
def decomposition_of(op_desc: OpDesc, specs: collections.abc.Mapping[str, tuple[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], str]] = {}) -> tuple[list[tuple[OpDesc, bool]], dict[str, str]]:
    """
    The operators that one operator stands for, each with whether gradients stop there; and output variable -> the variable of these operators that it equals.
    """
def define_op(type: str, doc: str, inputs: collections.abc.Sequence[tuple[str, str]], outputs: collections.abc.Sequence[tuple[str, str]], attrs: dict[str, typing.Any], infer: typing.Any, forward: typing.Any, backward: typing.Any, reads: collections.abc.Sequence[str], cotangents: collections.abc.Sequence[str], differentiable: collections.abc.Sequence[str], decompose: typing.Any = None, is_its_decomposition: bool = False) -> Definition:
    """
    Defines an operator, in the place of one of its name, whose formulas are Python functions: forward({slot: array}, attrs) and backward likewise write into the arrays of the outputs, infer({slot: (shape, dtype)}, attrs) gives a (shape, dtype) for each output; decompose likewise gives the operators that this one stands for, each with whether gradients stop there, and {slot: variable} of the outputs.
    """
def difference(function: Function, input: typing.SupportsInt | typing.SupportsIndex, delta: typing.SupportsFloat | typing.SupportsIndex, *, weights: typing.Any = None, forward: bool = False, elements: typing.Any = None, workers: typing.SupportsInt | typing.SupportsIndex = 1) -> numpy.typing.NDArray[numpy.float64]:
    """
    Plain difference quotients of the sum of the weighted outputs.
    """
def differentiate(function: Function, input: typing.SupportsInt | typing.SupportsIndex, cotangents: collections.abc.Iterable[typing.Any], *, elements: typing.Any = None, noise: typing.Any = None, rows: typing.SupportsInt | typing.SupportsIndex = 0, workers: typing.SupportsInt | typing.SupportsIndex = 1, once: bool = False) -> Derivatives:
    """
    The derivatives of <v, f> by elements of one input; `once`: one central difference of a small step, with the error bar of rounding alone.
    """
def differentiate_along(function: Function, directions: collections.abc.Iterable[typing.Any], cotangents: collections.abc.Iterable[typing.Any], *, noise: typing.Any = None, trace: bool = False, workers: typing.SupportsInt | typing.SupportsIndex = 1) -> Derivatives:
    """
    The derivative of <v, f> along one direction of all inputs.
    """
def dtype_name(number: typing.SupportsInt | typing.SupportsIndex) -> str:
    """
    The name of a dtype: 'float32' for 5.
    """
def dtype_number(name: str) -> int:
    """
    The number of a dtype in attributes and files: 5 for 'float32'.
    """
def error_statistics(analytical: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], numerical: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], smallest: typing.SupportsFloat | typing.SupportsIndex) -> typing.Annotated[list[float], "FixedSize(6)"]:
    """
    The largest, mean and median of |a - n| / max(|a|, |n|, smallest), and those of |a - n|.
    """
def get_cuda_device_count() -> int:
    """
    The number of GPUs that can be used.
    """
def get_grad_op_desc(op_desc: OpDesc, no_grad_set: collections.abc.Set[str] = set(), grad_sub_blocks: collections.abc.Sequence[BlockDesc] = [], specs: collections.abc.Mapping[str, tuple[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], str]] = {}) -> tuple[list[OpDesc], dict[str, str]]:
    """
    The operators that calculate the gradient of one operator, and which gradient belongs to which forward variable. An operator that decomposes_by_specs needs those of its inputs: variable -> (shape, dtype).
    """
def grad_var_name(name: str) -> str:
    """
    'x' -> 'x@GRAD'
    """
def judge(reference: Derivatives, analytical: typing.Any, tolerance: typing.Any, rules: Rules) -> Judgement:
    """
    Compares derivatives with what is claimed, both [cotangents, elements].
    """
def load_op_library(path: str) -> Definition:
    """
    Adds the operators of a shared library.
    """
def may_be_infinite(claimed: typing.SupportsFloat | typing.SupportsIndex, derivative: typing.SupportsFloat | typing.SupportsIndex, dtype: str) -> bool:
    """
    Whether an infinity may stand for a derivative that `dtype` cannot hold.
    """
def measure_noise(function: Function, seed: typing.SupportsInt | typing.SupportsIndex = 0) -> tuple[NoiseLevel, int]:
    """
    One standard deviation; and the runs it took.
    """
def narrowed_to(claimed: typing.Any, reference: Derivatives, dtype: str, bars: typing.SupportsFloat | typing.SupportsIndex) -> str | None:
    """
    The narrower dtype that every element is a number of, though some should not be, or None.
    """
def needed_ops(program: ProgramDesc, targets: collections.abc.Sequence[str], given: collections.abc.Sequence[str]) -> dict[int, list[int]]:
    """
    The operators that variables of block 0 need, where `given` are there already: block -> positions.
    """
def noise_floor(function: Function, seed: typing.SupportsInt | typing.SupportsIndex = 0) -> tuple[NoiseLevel, int]:
    """
    What error bars must allow for besides rounding; and the runs it took.
    """
def onednn_version() -> typing.Any:
    """
    The version of oneDNN that this build uses, or None.
    """
def op_def(type: str) -> OpDef:
    """
    The definition of an operator.
    """
def op_types() -> list[str]:
    """
    The names of all operators, sorted.
    """
def prove_jointly(function: Function, inputs: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], gradients: collections.abc.Iterable[typing.Any], cotangent: typing.Any, rules: Rules, *, by_element: collections.abc.Set[typing.SupportsInt | typing.SupportsIndex], probes: typing.SupportsInt | typing.SupportsIndex, seed: typing.SupportsInt | typing.SupportsIndex = 0, levels: bool = False) -> tuple[dict[int, Proof], int]:
    """
    {input: Proof} of the gradients by some inputs that directions of several of them prove; and the evaluations of f. `by_element`: those of which an error of any one element must have been seen that a look at each sees.
    """
def round_direction(direction: numpy.ndarray) -> numpy.ndarray:
    """
    The direction with 10 significant bits: along it, float64 inputs move without rounding.
    """
def round_to(dtype: str, value: typing.SupportsFloat | typing.SupportsIndex) -> float:
    """
    The value rounded once, to nearest, ties to even.
    """
def same_bits(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    """
    Whether two arrays of one shape and dtype hold the same bits, signs of zeros and NaNs too.
    """
def slope_along(function: Function, directions: collections.abc.Iterable[typing.Any], cotangent: typing.Any, wanted: typing.SupportsFloat | typing.SupportsIndex, claimed: typing.SupportsFloat | typing.SupportsIndex | None = None) -> Derivatives:
    """
    The derivative of <v, f> along one direction of all inputs, with an error bar of `wanted` in as few evaluations as it takes, fewer where it is `claimed`; it can prove a claim, but not refute it.
    """
def thread_group(size: typing.SupportsInt | typing.SupportsIndex, timeout: typing.SupportsFloat | typing.SupportsIndex = 60.0) -> list[Communicator]:
    """
    Communicators for as many threads of this process, by rank.
    """
def unit_roundoff(dtype: str) -> float:
    """
    Half the distance from 1 to the next larger number.
    """
def version() -> str:
    """
    The version of fluidcore.
    """
COMPILED_WITH_CUDA: bool = False
EMPTY_VAR_NAME: str = '@EMPTY@'
GRAD_VAR_SUFFIX: str = '@GRAD'
class Error(RuntimeError):
    """
    Root of fluidcore's exceptions.
    """
class InvalidArgument(Error, ValueError):
    """
    A wrong value, shape, dtype or attribute.
    """
class NotFound(Error, LookupError):
    """
    A name that is unknown.
    """
class RankFailed(Error, ConnectionError):
    """
    Another rank has ended, or was not heard of in time.
    """
class TimedOut(Error, TimeoutError):
    """
    The time of a run was over.
    """
class OutOfTime(BaseException):
    """
    A TimeLimit is over.
    """
