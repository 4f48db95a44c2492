"""fluidcore: a deep-learning core in which a model is a program.

Example:
    import fluidcore as fluid

    x = fluid.layers.data("x", [13])
    y = fluid.layers.data("y", [1])
    cost = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
    fluid.optimizer.SGD(learning_rate=0.01).minimize(cost)

    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    loss, = exe.run(feed={"x": xs, "y": ys}, fetch_list=[cost])
"""

from fluidcore import _openmp  # noqa: F401, I001 - before anything else loads the core
from fluidcore import (
    amp,
    average,
    backward,
    checkpoint,
    clip,
    core,
    custom,
    data_feeder,
    data_loader,
    datasets,
    default_scope_funcs,
    evaluator,
    executor,
    framework,
    initializer,
    io,
    layer_helper,
    layers,
    memory,
    nets,
    op,
    learning_rate_decay,
    metrics,
    optimizer,
    parallel,
    profiler,
    reader,
    regularizer,
    trainer,
    unique_name,
)
from fluidcore.backward import append_backward, calc_gradient, gradients
from fluidcore.clip import (
    BaseErrorClipAttr,
    ErrorClipByValue,
    GradientClipByGlobalNorm,
    GradientClipByNorm,
    GradientClipByValue,
    error_clip_callback,
    set_gradient_clip,
)
from fluidcore.core import (
    CPUPlace,
    CUDAPlace,
    Error,
    InvalidArgument,
    LoDTensor,
    NotFound,
    RankFailed,
    Scope,
    Tensor,
    TimedOut,
)
from fluidcore.custom import custom_op, load_op_library
from fluidcore.data_feeder import DataFeeder
from fluidcore.data_loader import DataLoader
from fluidcore.executor import (
    Executor,
    fetch_var,
    get_num_threads,
    global_scope,
    scope_guard,
    set_num_threads,
    switch_scope,
)
from fluidcore.memory import memory_optimize, release_memory
from fluidcore.parallel_executor import ParallelExecutor
from fluidcore.param_attr import ParamAttr, WeightNormParamAttr
from fluidcore.program import (
    Block,
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    grad_var_name,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
from fluidcore.reader import batch
from fluidcore.trainer import (
    BeginEpochEvent,
    BeginStepEvent,
    EarlyStopping,
    EndEpochEvent,
    EndStepEvent,
    Trainer,
)

__version__: str = core.version()

__all__ = [
    "BaseErrorClipAttr",
    "BeginEpochEvent",
    "BeginStepEvent",
    "Block",
    "CPUPlace",
    "CUDAPlace",
    "DataFeeder",
    "DataLoader",
    "EarlyStopping",
    "EndEpochEvent",
    "EndStepEvent",
    "Error",
    "ErrorClipByValue",
    "Executor",
    "GradientClipByGlobalNorm",
    "GradientClipByNorm",
    "GradientClipByValue",
    "InvalidArgument",
    "LoDTensor",
    "NotFound",
    "Operator",
    "ParallelExecutor",
    "ParamAttr",
    "Parameter",
    "Program",
    "RankFailed",
    "Scope",
    "Tensor",
    "TimedOut",
    "Trainer",
    "Variable",
    "WeightNormParamAttr",
    "amp",
    "append_backward",
    "average",
    "backward",
    "batch",
    "calc_gradient",
    "checkpoint",
    "clip",
    "core",
    "custom",
    "custom_op",
    "data_feeder",
    "data_loader",
    "datasets",
    "default_main_program",
    "default_startup_program",
    "default_scope_funcs",
    "error_clip_callback",
    "evaluator",
    "executor",
    "fetch_var",
    "get_num_threads",
    "framework",
    "global_scope",
    "grad_var_name",
    "gradients",
    "initializer",
    "io",
    "layer_helper",
    "layers",
    "load_op_library",
    "memory",
    "memory_optimize",
    "nets",
    "op",
    "learning_rate_decay",
    "metrics",
    "optimizer",
    "parallel",
    "profiler",
    "program_guard",
    "switch_main_program",
    "switch_scope",
    "switch_startup_program",
    "reader",
    "regularizer",
    "release_memory",
    "scope_guard",
    "set_gradient_clip",
    "set_num_threads",
    "trainer",
    "unique_name",
]
