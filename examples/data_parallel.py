"""Trains on handwritten digits with several processes, as mpiexec -n 2 starts them."""

import fluidcore as fluid
from fluidcore import datasets, layers

world = fluid.parallel.world()
data = datasets.digits()

image = layers.data("image", [1, 8, 8])
label = layers.data("label", [1], dtype="int64")
samples = layers.data("samples", [2], dtype="int64", append_batch_size=False)
hidden = layers.fc(image, 64, act="relu")
logits = layers.fc(hidden, 10)
accuracy = layers.accuracy(layers.softmax(logits), label)
loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))

main, startup = fluid.default_main_program(), fluid.default_startup_program()
main.random_seed = startup.random_seed = 1
test = main.clone(for_test=True)
mean_loss = fluid.parallel.average(loss, world, samples)
adam = fluid.optimizer.Adam(learning_rate=0.01)
fluid.parallel.DistributedOptimizer(adam, world, samples=samples).minimize(loss)

exe = fluid.Executor(communicator=world)
exe.run(startup)
loader = fluid.DataLoader(
    (data.train_images, data.train_labels),
    batch_size=80,  # of all processes together
    shuffle=True,
    feed_list=[image, label],
    communicator=world,
    samples=samples,
)
for epoch in range(1, 16):
    for batch in loader:
        (value,) = exe.run(main, batch, [mean_loss])
    if world.rank == 0 and epoch % 5 == 0:
        feed = {"image": data.test_images, "label": data.test_labels}
        (right,) = exe.run(test, feed, [accuracy])
        print(f"epoch {epoch:2}: loss {value.item():.4f}, accuracy {right.item():.1%}", flush=True)
