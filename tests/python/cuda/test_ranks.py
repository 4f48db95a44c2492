"""Ranks on GPUs, here threads that share one, train as one process on the CPU does."""

import numpy as np
import pytest
from ranked_training import alone, assert_alike, on_ranks

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.executor import cuda_libraries
from fluidcore.optimizer import SGD, Adam, Momentum

GPU = fluid.CUDAPlace(0)


def assert_trained_alike(optimizer, sizes=(2, 3), **options) -> None:
    """The ranks, on the GPU without the CPU's help, get what one process does on the CPU."""
    options_alone = {name: value for name, value in options.items() if name != "distributed"}
    expected = alone(optimizer, **options_alone)
    for size in sizes:
        for result in on_ranks(size, optimizer, place=GPU, **options):
            assert_alike(result, expected, rtol=1e-9)


@pytest.mark.parametrize("optimizer", [lambda: SGD(0.1), lambda: Momentum(0.1, 0.9), Adam])
def test_batches_need_not_divide(optimizer):
    assert_trained_alike(optimizer)


def test_each_bucket_is_a_sum_of_its_own():
    assert_trained_alike(Adam, distributed={"bucket_mb": 1e-6})


@pytest.mark.parametrize("weighted", [False, True])
def test_selected_rows_of_all_ranks(weighted):
    assert_trained_alike(
        lambda: SGD(0.1), weighted=weighted, sparse=True, batch_size=6, steps=6 if weighted else 4
    )


def test_optimizer_state_in_parts():
    assert_trained_alike(Adam, distributed={"shard_state": True})


def test_clips_see_the_gradient_of_all_ranks():
    assert_trained_alike(
        lambda: SGD(0.5),
        before=lambda: fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(0.05)),
    )


def test_batch_norms_of_all_ranks():
    assert_trained_alike(Adam, batch_norm=True, distributed={"sync_batch_norm": True})


def test_one_rank_adds_up_nothing_and_has_the_bits_of_no_communicator():
    expected = alone(Adam, weighted=False, place=GPU)
    (result,) = on_ranks(1, Adam, weighted=False, place=GPU)
    assert result[0] == expected[0]
    for name in expected[1]:
        np.testing.assert_array_equal(result[1][name], expected[1][name])


def test_sixteen_bits_are_added_up_in_float32():
    def mean(ranks):
        x = layers.data("x", [1])
        shown = layers.cast(fluid.parallel.average(layers.cast(x, "bfloat16"), ranks), "float32")
        exe = fluid.Executor(GPU, communicator=ranks)
        value = np.array([[1.0 if ranks.rank == 0 else 258 / 256]], np.float32)
        return exe.run(feed={"x": value}, fetch_list=[shown])[0].item()

    assert fluid.parallel.run_in_threads(2, mean) == [1.0, 1.0]  # 257/256, to even


def test_ranks_that_share_a_gpu_exchange_through_the_host():
    def transport(ranks):
        return fluid.Executor(GPU, communicator=ranks).transport()

    assert fluid.parallel.run_in_threads(2, transport) == ["host"] * 2


def test_a_rank_by_itself_gets_its_own_values_back():
    """Of every operation; by NCCL where that is there, as one rank has a GPU of its own."""
    cuda_libraries.load(cuda_libraries.NCCL)

    def run(ranks):
        block = fluid.default_main_program().global_block()
        x = layers.data("x", [3, 4], append_batch_size=False)

        def add(kind, outputs, **attrs):
            made = {slot: block.create_var(name) for slot, name in outputs.items()}
            block.append_op(kind, {"X": [x]}, made, attrs)
            return made

        summed = add("c_allreduce_sum", {"Request": "sum_begun"})["Request"]
        scattered = add("c_reduce_scatter", {"Request": "part_begun"})["Request"]
        sent = add("c_broadcast", {"Out": "sent"})["Out"]
        part = add("c_part", {"Out": "part"}, ranks=1)["Out"]
        whole, total, own = (block.create_var(name) for name in ("whole", "total", "own"))
        block.append_op("c_allgather", {"X": [part], "Like": [x]}, {"Out": [whole]}, {"ranks": 1})
        block.append_op("c_wait", {"Request": [summed], "Like": [x]}, {"Out": [total]}, {})
        block.append_op("c_wait", {"Request": [scattered], "Like": [part]}, {"Out": [own]}, {})
        exe = fluid.Executor(GPU, communicator=ranks)
        fetches = [sent, whole, total, own, fluid.parallel.average(x, ranks)]
        return [exe.run(feed={"x": X}, fetch_list=fetches) for _ in range(3)]

    X = np.arange(12, dtype=np.float32).reshape(3, 4)
    (runs,) = fluid.parallel.run_in_threads(1, run)
    for found in runs:
        for value in found:
            np.testing.assert_array_equal(value.reshape(3, 4), X)


def test_an_executor_without_a_communicator_has_no_transport():
    with pytest.raises(core.InvalidArgument, match="must have a communicator, got none"):
        fluid.Executor(GPU).transport()


def test_what_one_rank_raises_ends_the_others():
    def run(ranks):
        x = layers.data("x", [2])
        label = layers.data("label", [1], dtype="int64")
        loss = layers.softmax_with_cross_entropy(layers.fc(x, 3), label)
        loss = layers.mean(loss)
        fluid.parallel.DistributedOptimizer(SGD(0.1), ranks).minimize(loss)
        exe = fluid.Executor(GPU, communicator=ranks)
        exe.run(fluid.default_startup_program())
        wrong = np.array([[9 if ranks.rank == 1 else 0]])
        try:
            exe.run(feed={"x": np.ones((1, 2), np.float32), "label": wrong}, fetch_list=[loss])
        except core.RankFailed as error:
            return str(error)
        except core.InvalidArgument as error:
            ranks.fail(str(error))
            return "invalid"
        return "nothing"

    first, second = fluid.parallel.run_in_threads(2, run)
    assert second == "invalid"
    assert "rank 1 has failed" in first
    assert "c_allreduce_sum" in first or "c_wait" in first
