"""Each rank has a part of the optimizer's state."""

import numpy as np
import pytest
from ranked_training import alone, assert_alike, on_ranks

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.optimizer import SGD, Adam, AdamW, GradientAccumulation, Lamb, Momentum
from fluidcore.regularizer import L2Decay

TWO = core.thread_group(2)[0]
SHARDED = {"shard_state": True}


@pytest.fixture(autouse=True)
def fresh():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield


def network():
    x = layers.data("x", [3])
    return layers.mean(layers.square(layers.fc(layers.fc(x, 4, act="tanh"), 1)))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("optimizer", [lambda: SGD(0.1), lambda: Momentum(0.1, 0.9), Adam, AdamW])
def test_ranks_agree_with_one_process(size, optimizer):
    expected = alone(optimizer)
    for result in on_ranks(size, optimizer, distributed=SHARDED):
        assert_alike(result, expected)


@pytest.mark.parametrize(
    "optimizer",
    [
        fluid.optimizer.Adagrad,
        fluid.optimizer.DecayedAdagrad,
        fluid.optimizer.Adadelta,
        fluid.optimizer.RMSProp,
        fluid.optimizer.Adamax,
        fluid.optimizer.NAdam,
        fluid.optimizer.Lion,
        fluid.optimizer.Ftrl,
        fluid.optimizer.ProximalGD,
        fluid.optimizer.ProximalAdagrad,
    ],
)
def test_all_that_update_element_by_element_agree_with_one_process(optimizer):
    expected = alone(lambda: optimizer(learning_rate=0.01))
    for result in on_ranks(2, lambda: optimizer(learning_rate=0.01), distributed=SHARDED):
        assert_alike(result, expected)


@pytest.mark.parametrize("bucket_mb", [1e-6, 1e-4])
def test_buckets_change_nothing(bucket_mb):
    expected = alone(Adam)
    for result in on_ranks(2, Adam, distributed={**SHARDED, "bucket_mb": bucket_mb}):
        assert_alike(result, expected)


def test_selected_rows_are_updated_on_all_ranks():
    expected = alone(Adam, weighted=False, sparse=True)
    for result in on_ranks(2, Adam, weighted=False, sparse=True, distributed=SHARDED):
        assert_alike(result, expected)


@pytest.mark.parametrize(
    "clip", [fluid.GradientClipByGlobalNorm(0.05), fluid.GradientClipByValue(0.01)]
)
def test_clips_see_all_parts(clip):
    def before():
        fluid.set_gradient_clip(clip)

    expected = alone(lambda: SGD(0.5), before=before)
    for result in on_ranks(3, lambda: SGD(0.5), before=before, distributed=SHARDED):
        assert_alike(result, expected)


def test_weight_decay_and_learning_rates_of_parameters_are_kept():
    def optimizer():
        return Momentum(0.1, 0.9, regularization=L2Decay(0.1))

    def before():
        block = fluid.default_main_program().global_block()
        block.var("w1").optimize_attr = {"learning_rate": 0.5}
        block.var("w2").regularizer = L2Decay(0.3)

    expected = alone(optimizer, before=before)
    for result in on_ranks(2, optimizer, before=before, distributed=SHARDED):
        assert_alike(result, expected)


def test_the_state_takes_half_the_memory_on_two_ranks():
    fluid.parallel.DistributedOptimizer(Adam(), TWO, shard_state=True).minimize(network())
    block = fluid.default_main_program().global_block()
    elements = sum(int(np.prod(param.shape)) for param in block.all_parameters())
    assert elements == 21
    moments = [var for name, var in block.vars.items() if "moment" in name]
    assert [(var.shape, var.persistable) for var in moments] == [((11,), True)] * 2


def test_the_text_of_the_program_shows_all():
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO, shard_state=True).minimize(
        layers.mean(layers.fc(layers.data("x", [3]), 2))
    )
    part = "parameters.part_0"
    assert str(fluid.default_main_program()).splitlines()[-5:] == [
        "  c_reduce_scatter(X=[fc_0.b_0@GRAD, fc_0.w_0@GRAD]) -> "
        f"Request=gradients.request_0   # average=True, params=['{part}']",
        f"  c_part(X=[fc_0.b_0, fc_0.w_0]) -> Out={part}   # ranks=2",
        f"  c_wait(Like={part}, Request=gradients.request_0) -> Out={part}@GRAD",
        f"  sgd(Grad={part}@GRAD, LearningRate=learning_rate_0, Param={part}) -> ParamOut={part}",
        f"  c_allgather(Like=[fc_0.b_0, fc_0.w_0], X={part}) -> Out=[fc_0.b_0, fc_0.w_0]   "
        "# ranks=2",
    ]


def test_what_needs_whole_gradients_is_refused_and_nothing_changes():
    loss = network()
    before = str(fluid.default_main_program())

    def refused(optimizer, message):
        made = fluid.parallel.DistributedOptimizer(optimizer, TWO, shard_state=True)
        with pytest.raises(fluid.InvalidArgument, match=message):
            made.minimize(loss)
        assert str(fluid.default_main_program()) == before

    refused(Lamb(), "updates must be element by element, got lamb, whose are not")
    refused(GradientAccumulation(SGD(0.1), steps=2), "got gradient_accumulation")
    fluid.set_gradient_clip(fluid.GradientClipByNorm(1.0))
    refused(Adam(), "clipped by value or global norm, got GradientClipByNorm for 'fc_")


def test_what_looks_at_gradients_before_the_update_is_refused():
    sharded = fluid.parallel.DistributedOptimizer(Adam(), TWO, shard_state=True)
    scaled = fluid.amp.decorate(sharded, dtype="float16")
    for optimizer in (scaled, GradientAccumulation(sharded, steps=2)):
        with pytest.raises(fluid.InvalidArgument, match=r"minimize\(\) must be called, got"):
            optimizer.minimize(network())


def test_a_global_norm_of_selected_rows_is_refused():
    ids = layers.data("ids", [1], dtype="int64")
    loss = layers.mean(layers.embedding(ids, [7, 4], is_sparse=True, param_attr="table"))
    fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(1.0))
    with pytest.raises(fluid.InvalidArgument, match=r"got selected rows for \['table'\]"):
        fluid.parallel.DistributedOptimizer(Adam(), TWO, shard_state=True).minimize(loss)
