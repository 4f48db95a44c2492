"""Trains a variational autoencoder on handwritten digits, then draws digits that nobody wrote.

The encoder says for each image where its code may be: a mean and a variance. A code drawn there is
mean + deviation * noise, through which gradients pass (Kingma and Welling 2013). The loss is what
the image costs if one knows the code, and what the code costs, both in nats. Run it with
`python examples/vae.py`.
"""

import numpy as np

import fluidcore as fluid
from fluidcore import Variable, datasets, layers

CODE, HIDDEN, BATCH, EPOCHS = 8, 128, 64, 40
INKS = " .:-=+*#%@"


def decode(code: Variable) -> Variable:
    """The logits of the pixels, [batch, 64]: the same network wherever it is called."""
    hidden = layers.fc(code, HIDDEN, act="relu", param_attr="decoder.w1", bias_attr="decoder.b1")
    return layers.fc(hidden, 64, param_attr="decoder.w2", bias_attr="decoder.b2")


def main() -> None:
    """Trains, says what an unseen image costs, and draws."""
    data = datasets.digits()
    image = layers.data("image", [1, 8, 8])
    pixels = layers.reshape(image, [-1, 64])
    hidden = layers.fc(pixels, HIDDEN, act="relu")
    mean, log_variance = layers.fc(hidden, CODE), layers.fc(hidden, CODE)
    noise = layers.gaussian_random_batch_size_like(mean, [-1, CODE])
    logits = decode(mean + layers.exp(0.5 * log_variance) * noise)
    errors = layers.sigmoid_cross_entropy_with_logits(logits, pixels)
    reconstruction = layers.mean(layers.reduce_sum(errors, dim=1))
    surprise = 0.5 * (layers.square(mean) + layers.exp(log_variance) - log_variance - 1.0)
    divergence = layers.mean(layers.reduce_sum(surprise, dim=1))
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    test = main.clone()  # before minimize: it calculates the costs, and trains nothing
    fluid.optimizer.Adam(0.002).minimize(reconstruction + divergence)

    artist = fluid.Program()  # the decoder alone, with the parameters that are trained above
    with fluid.program_guard(artist, fluid.Program()):
        drawn = layers.sigmoid(decode(layers.gaussian_random([8, CODE])))

    main.random_seed = startup.random_seed = test.random_seed = artist.random_seed = 1
    exe = fluid.Executor()
    exe.run(startup)
    costs = [reconstruction, divergence]

    def report(epoch: int) -> None:
        image_cost, code_cost = exe.run(test, {"image": data.test_images}, costs)
        print(
            f"epoch {epoch:2}: an unseen image costs {image_cost.item():.1f} nats, "
            f"its code {code_cost.item():.1f}"
        )

    report(0)
    loader = fluid.DataLoader((data.train_images,), BATCH, shuffle=True, feed_list=[image])
    for epoch in range(1, EPOCHS + 1):
        for batch in loader:
            exe.run(main, batch)
        if epoch % 10 == 0:
            report(epoch)

    (images,) = exe.run(artist, fetch_list=[drawn])
    ink = np.array(list(INKS))[(images * (len(INKS) - 0.01)).astype(int)].reshape(8, 8, 8)
    print("drawn:")
    for row in range(8):
        print("   ".join("".join(digit[row]) for digit in ink))


if __name__ == "__main__":
    main()
