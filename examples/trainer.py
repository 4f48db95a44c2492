"""Trains on handwritten digits until it gets no better, and goes on where it was interrupted.

Run it, press Ctrl-C, and run it again.
"""

import fluidcore as fluid
from fluidcore import datasets, layers

data = datasets.digits()
train = {"image": data.train_images, "label": data.train_labels}
test = {"image": data.test_images, "label": data.test_labels}

image = layers.data("image", [1, 8, 8])
label = layers.data("label", [1], dtype="int64")
features = layers.conv2d(image, 16, 3, padding=1, act="relu")
hidden = layers.dropout(layers.fc(layers.pool2d(features, 2, "max", 2), 64, act="relu"), 0.3)
logits = layers.fc(hidden, 10)
accuracy = layers.accuracy(layers.softmax(logits), label)
loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))

main, startup = fluid.default_main_program(), fluid.default_startup_program()
main.random_seed = startup.random_seed = 1

trainer = fluid.Trainer(loss, fluid.optimizer.Adam(learning_rate=0.005), {"accuracy": accuracy})
history = trainer.train(
    fluid.DataLoader(train, 64, shuffle=True),
    epochs=12,
    evaluate=fluid.DataLoader(test, 200),
    early_stopping=fluid.EarlyStopping(patience=3),
    checkpoint_dir="digits_checkpoints",
    checkpoint_on_interrupt=True,
    resume=True,
)

best = history.best()
print(
    f"best epoch: {best.epoch + 1}, accuracy on unseen digits: {best.metrics['val_accuracy']:.1%}"
)

step = fluid.checkpoint.best("digits_checkpoints")
fluid.checkpoint.load("digits_checkpoints", trainer.executor, main, step=step)
print(f"loaded again: {trainer.evaluate(fluid.DataLoader(test, 200))['accuracy']:.1%}")
