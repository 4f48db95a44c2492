"""Several ranks with parts of the batches train as one process with whole batches does."""

import numpy as np
import pytest
from ranked_training import alone, assert_alike, on_ranks

import fluidcore as fluid
from fluidcore.optimizer import SGD, Adam, GradientAccumulation, Momentum


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("optimizer", [lambda: SGD(0.1), lambda: Momentum(0.1, 0.9), Adam])
def test_ranks_agree_with_one_process_though_batches_do_not_divide(size, optimizer):
    expected = alone(optimizer)
    for result in on_ranks(size, optimizer):
        assert_alike(result, expected)


def test_more_ranks_than_samples_of_the_last_batch():
    # 22 samples: the last batch has 1.
    expected = alone(Adam, batch_size=7)
    for result in on_ranks(4, Adam, batch_size=7):
        assert_alike(result, expected)


@pytest.mark.parametrize("bucket_mb", [1e-6, 1e-4, 25.0])
def test_buckets_change_nothing(bucket_mb):
    expected = alone(Adam)
    for result in on_ranks(2, Adam, distributed={"bucket_mb": bucket_mb}):
        assert_alike(result, expected)


def test_equal_parts_need_no_samples():
    expected = alone(Adam, weighted=False)
    for result in on_ranks(2, Adam, weighted=False):
        assert_alike(result, expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [2, 3])
def test_selected_rows_of_all_ranks(size, weighted):
    for optimizer in (lambda: SGD(0.1), Adam):
        batch_size = 6 if size == 3 else 8
        options = {"weighted": weighted, "sparse": True, "batch_size": batch_size}
        expected = alone(optimizer, **options)
        for result in on_ranks(size, optimizer, **options):
            assert_alike(result, expected)


def test_clips_see_the_gradient_of_all_ranks():
    def clip():
        fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(0.05))

    def error_clip():
        for name in ("w1", "w2"):
            block = fluid.default_main_program().global_block()
            block.var(name).error_clip = fluid.ErrorClipByValue(0.02)

    for before in (clip, error_clip):
        expected = alone(lambda: SGD(0.5), before=before)
        for result in on_ranks(3, lambda: SGD(0.5), before=before):
            assert_alike(result, expected)


def test_weight_decay_counts_once():
    def optimizer():
        return SGD(0.1, regularization=fluid.regularizer.L2Decay(0.1))

    expected = alone(optimizer)
    for result in on_ranks(2, optimizer):
        assert_alike(result, expected)


def test_gradient_accumulation_adds_up_over_the_ranks_once():
    def wrap(optimizer):
        return GradientAccumulation(optimizer, steps=2)

    expected = alone(Adam, wrap=wrap, weighted=False)
    for result in on_ranks(2, Adam, wrap=wrap, weighted=False):
        assert_alike(result, expected)


def test_one_rank_is_the_old_program_bit_for_bit():
    expected = alone(Adam, dropout=0.3, weighted=False)
    (result,) = on_ranks(1, Adam, dropout=0.3, weighted=False)
    assert result[0] == expected[0]
    assert all(np.array_equal(result[1][name], expected[1][name]) for name in expected[1])


def test_runs_of_as_many_ranks_have_equal_bits_and_ranks_agree():
    first, second = (on_ranks(3, Adam, dropout=0.3) for _ in range(2))
    for results in (first, second):
        for result in results:
            assert result[0] == first[0][0]
            assert all(np.array_equal(result[1][name], first[0][1][name]) for name in first[0][1])


def test_ranks_drop_different_elements():
    def masks(communicator):
        x = fluid.layers.data("x", [64])
        kept = fluid.layers.dropout(x, 0.5)
        fluid.default_main_program().random_seed = 7
        exe = fluid.Executor(communicator=communicator)
        return exe.run(feed={"x": np.ones((1, 64), np.float32)}, fetch_list=[kept])[0]

    first, second = fluid.parallel.run_in_threads(2, masks)
    again, _ = fluid.parallel.run_in_threads(2, masks)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, again)
