"""Random networks, batches and optimizers: ranks agree with one process."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers, optimizer

OPTIMIZERS = {
    "sgd": lambda: optimizer.SGD(0.1),
    "momentum": lambda: optimizer.Momentum(0.05, 0.9, use_nesterov=True),
    "adam": lambda: optimizer.Adam(0.01),
    "adamw": lambda: optimizer.AdamW(0.01),
    "rmsprop": lambda: optimizer.RMSProp(0.01),
    "lamb": lambda: optimizer.Lamb(0.01),
}


def trained(communicator, seed):
    """Losses and parameters of a network that the seed draws."""
    random = np.random.default_rng(seed)
    width, batch, count = random.integers(1, 6), random.integers(4, 9), random.integers(9, 30)
    x = layers.data("x", [int(width)], dtype="float64")
    samples = layers.data("samples", [2], dtype="int64", append_batch_size=False)
    values = [x]
    for _ in range(random.integers(1, 5)):
        act = random.choice(["tanh", "relu", "sigmoid", None])
        made = layers.fc(values[random.integers(len(values))], int(random.integers(1, 7)), act=act)
        if random.random() < 0.3:
            made = layers.layer_norm(made)
        if random.random() < 0.3 and values[-1].shape == made.shape:
            made = made + values[-1]
        values.append(made)
    loss = layers.mean(layers.square(layers.fc(values[-1], 1) - 1.0))
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    main.random_seed = startup.random_seed = int(seed) + 1
    if random.random() < 0.5:
        fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(0.1))
    made = OPTIMIZERS[random.choice(list(OPTIMIZERS))]()
    shown, counts = fluid.parallel.average(loss, communicator, samples), samples
    fluid.parallel.DistributedOptimizer(
        made, communicator, bucket_mb=float(random.choice([1e-5, 1e-4, 25])), samples=counts
    ).minimize(loss)
    exe = fluid.Executor(communicator=communicator)
    exe.run(startup)
    data = random.normal(size=(count, width))
    loader = fluid.DataLoader(
        (data,), int(batch), True, feed_list=[x], communicator=communicator, samples=counts
    )
    losses = [exe.run(main, each, [shown])[0].item() for _ in range(2) for each in loader]
    return losses, [np.array(fluid.fetch_var(p.name)) for p in main.global_block().all_parameters()]


@pytest.mark.parametrize("seed", range(24))
def test_one_two_and_four_ranks_agree(seed):
    ((losses, params),) = fluid.parallel.run_in_threads(1, lambda ranks: trained(ranks, seed))
    for size in (2, 4):
        for other_losses, other in fluid.parallel.run_in_threads(
            size, lambda ranks: trained(ranks, seed)
        ):
            np.testing.assert_allclose(other_losses, losses, rtol=1e-9)
            for one, several in zip(params, other, strict=True):
                np.testing.assert_allclose(several, one, rtol=1e-7, atol=1e-9)
