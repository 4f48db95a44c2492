"""Trains a small network on real handwritten digits and tests it on digits it has not seen."""

import numpy as np

import fluidcore as fluid
from fluidcore import datasets, layers

data = datasets.digits()

image = layers.data("image", [1, 8, 8])
label = layers.data("label", [1], dtype="int64")
hidden = layers.fc(image, 64, act="relu")
logits = layers.fc(hidden, 10)
prediction = layers.softmax(logits)
accuracy = layers.accuracy(prediction, label)
loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))

main, startup = fluid.default_main_program(), fluid.default_startup_program()
main.random_seed = startup.random_seed = 1
test = main.clone(for_test=True)  # before minimize: forward only
fluid.optimizer.Adam(learning_rate=0.01).minimize(loss)

exe = fluid.Executor()
exe.run(startup)
random = np.random.RandomState(0)
for epoch in range(1, 16):
    for chosen in np.array_split(random.permutation(len(data.train_labels)), 18):
        feed = {"image": data.train_images[chosen], "label": data.train_labels[chosen]}
        (value,) = exe.run(main, feed, [loss])
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {value.item():.4f}")

feed = {"image": data.test_images, "label": data.test_labels}
(right,) = exe.run(test, feed, [accuracy])
print(f"accuracy on {len(data.test_labels)} unseen digits: {right.item():.1%}")
