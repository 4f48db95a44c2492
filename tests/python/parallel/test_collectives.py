"""What the transformation inserts, and where."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.optimizer import SGD

TWO = core.thread_group(2)[0]
ONE = core.thread_group(1)[0]


@pytest.fixture(autouse=True)
def fresh():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield


def network(depth=2):
    x = layers.data("x", [3])
    for _ in range(depth):
        x = layers.fc(x, 4, act="relu")
    return layers.mean(x)


def operators(program=None):
    """Types, with the variables that collective operators work on."""
    block = (program or fluid.default_main_program()).global_block()
    return [
        (op.type, *op.input("X"))
        if op.type.startswith("c_all")
        else op.type
        if op.type != "c_wait"
        else (op.type, *op.output("Out"))
        for op in block.ops
    ]


def test_the_text_of_the_program_shows_all():
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO).minimize(network(depth=1))
    assert str(fluid.default_main_program()).splitlines()[-4:] == [
        "  c_allreduce_sum(X=[fc_0.b_0@GRAD, fc_0.w_0@GRAD]) -> "
        "Request=gradients.request_0   # average=True, params=['fc_0.b_0', 'fc_0.w_0']",
        "  c_wait(Like=[fc_0.b_0@GRAD, fc_0.w_0@GRAD], Request=gradients.request_0"
        ") -> Out=[fc_0.b_0@GRAD, fc_0.w_0@GRAD]",
        "  sgd(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.w_0) "
        "-> ParamOut=fc_0.w_0",
        "  sgd(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0) "
        "-> ParamOut=fc_0.b_0",
    ]
    last = str(fluid.default_startup_program()).splitlines()[-1]
    assert last == "  c_broadcast(X=fc_0.w_0) -> Out=fc_0.w_0   # root=0"


def test_what_the_startup_program_draws_is_that_of_rank_0_though_nothing_learns_it():
    x = layers.fc(layers.data("x", [3]), 4)
    frozen = fluid.ParamAttr("frozen", trainable=False)
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO).minimize(
        layers.mean(layers.fc(x, 2, param_attr=frozen, bias_attr=False))
    )
    ops = fluid.default_startup_program().global_block().ops
    sent = [op.input("X")[0] for op in ops if op.type == "c_broadcast"]
    assert sent == ["fc_0.w_0", "frozen"]


def test_a_bucket_begins_in_the_middle_of_backward_and_is_waited_for_before_its_first_use():
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO, bucket_mb=1e-5).minimize(network())
    second = ("fc_1.b_0@GRAD",), ("fc_1.w_0@GRAD",)
    first = ("fc_0.b_0@GRAD",), ("fc_0.w_0@GRAD",)
    assert operators()[8:] == [
        "mean_grad",
        "relu_grad",
        "elementwise_add_grad",
        ("c_allreduce_sum", *second[0]),
        "mul_grad",
        ("c_allreduce_sum", *second[1]),
        "relu_grad",
        "elementwise_add_grad",
        ("c_allreduce_sum", *first[0]),
        "mul_grad",
        ("c_allreduce_sum", *first[1]),
        ("c_wait", *first[1]),
        "sgd",
        ("c_wait", *first[0]),
        "sgd",
        ("c_wait", *second[1]),
        "sgd",
        ("c_wait", *second[0]),
        "sgd",
    ]


def test_where_gradients_are_asked_for_alone_they_are_those_of_all_ranks():
    optimizer = fluid.parallel.DistributedOptimizer(SGD(0.1), TWO)
    grads = optimizer.backward(network(depth=1))
    assert operators()[-1] == ("c_wait", "fc_0.b_0@GRAD", "fc_0.w_0@GRAD")
    optimizer.apply_gradients(grads)
    assert operators()[-3:] == [
        ("c_wait", "fc_0.b_0@GRAD", "fc_0.w_0@GRAD"),
        "sgd",
        "sgd",
    ]


def test_an_error_clip_changes_the_sum():
    loss = network(depth=1)
    block = fluid.default_main_program().global_block()
    block.var("fc_0.b_0").error_clip = fluid.ErrorClipByValue(0.1)
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO).minimize(loss)
    assert operators()[7:] == [
        "elementwise_add_grad",
        ("c_allreduce_sum", "fc_0.b_0@GRAD"),
        ("c_wait", "fc_0.b_0@GRAD"),
        "clip",
        "mul_grad",
        ("c_allreduce_sum", "fc_0.w_0@GRAD"),
        ("c_wait", "fc_0.w_0@GRAD"),
        "sgd",
        "sgd",
    ]


def test_a_program_with_its_updates_becomes_the_same():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        loss = network()
        grads = fluid.append_backward(loss)
        SGD(0.1).apply_gradients(grads)
        fluid.parallel.data_parallel(loss.block.program, grads, TWO)
        late = operators()
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO).minimize(network())
    assert operators() == late


def test_element_types_and_selected_rows_are_added_up_apart():
    words = layers.embedding(layers.data("ids", [1], dtype="int64"), [7, 4], is_sparse=True)
    wide = layers.fc(layers.data("x", [3], dtype="float64"), 4)
    loss = layers.mean(words + layers.cast(wide, "float32"))
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO).minimize(loss)
    assert [each for each in operators() if each[0].startswith("c_all")] == [
        ("c_allreduce_sum", "fc_0.b_0@GRAD", "fc_0.w_0@GRAD"),
        ("c_allgather_rows", "embedding_0.w_0@GRAD"),
    ]


def test_gradient_accumulation_adds_up_in_the_block_of_the_update():
    optimizer = fluid.parallel.DistributedOptimizer(SGD(0.1), TWO)
    fluid.optimizer.GradientAccumulation(optimizer, steps=2).minimize(network(depth=1))
    program = fluid.default_main_program()
    assert not any("c_" in each[0] for each in operators() if isinstance(each, tuple))
    inner = [op.type for op in program.block(1).ops]
    assert inner[:4] == ["scale", "scale", "c_allreduce_sum", "c_wait"]


def test_one_rank_changes_nothing():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        SGD(0.1).minimize(network())
        expected = [str(p) for p in (fluid.default_main_program(), fluid.default_startup_program())]
    fluid.parallel.DistributedOptimizer(SGD(0.1), ONE).minimize(network())
    got = [str(p) for p in (fluid.default_main_program(), fluid.default_startup_program())]
    assert got == expected


def texts():
    return str(fluid.default_main_program()), str(fluid.default_startup_program())


def test_a_gradient_is_added_up_once():
    loss = network()
    grads = fluid.append_backward(loss)
    fluid.parallel.data_parallel(loss.block.program, grads, TWO)
    before = texts()
    with pytest.raises(core.InvalidArgument, match="which is the sum of all ranks already"):
        fluid.parallel.data_parallel(loss.block.program, grads, TWO)
    assert texts() == before


def test_what_is_no_gradient_of_the_program():
    loss = network()
    grads = fluid.append_backward(loss)
    param = grads[0][0]
    for wrong, message in (
        ([(param, layers.data("y", [3]))], "which no operator there makes"),
        ([(param, fluid.Program().global_block().create_var("g", shape=[1]))], "of another one"),
    ):
        with pytest.raises(core.InvalidArgument, match=message):
            fluid.parallel.data_parallel(loss.block.program, wrong, TWO)
    with pytest.raises(core.InvalidArgument, match="bucket_mb must be above 0, got 0"):
        fluid.parallel.data_parallel(loss.block.program, grads, TWO, bucket_mb=0)
    with pytest.raises(TypeError, match=r"write fluid\.parallel\.world"):
        fluid.parallel.data_parallel(loss.block.program, grads, "mpi")
    assert not any(op.type.startswith("c_") for op in loss.block.ops)


def test_a_mean_over_the_ranks_passes_the_mean_of_the_gradients():
    def gradient(communicator):
        x = layers.data("x", [1], dtype="float64", stop_gradient=False)
        mean = fluid.parallel.average(layers.mean(layers.square(x)), communicator)
        times = layers.data("times", [1], dtype="float64", append_batch_size=False)
        grad = fluid.calc_gradient(mean * times, x)
        exe = fluid.Executor(communicator=communicator)
        feed = {"x": np.full((1, 1), 3.0), "times": np.array([1.0 + communicator.rank])}
        return exe.run(feed=feed, fetch_list=[grad])[0].item()

    # The losses count the mean 1 and 2 times: 1.5 times on average.
    assert fluid.parallel.run_in_threads(2, gradient) == [9.0, 9.0]
