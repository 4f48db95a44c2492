import numpy
import pytest

import fluidcore as fluid
from tests.python.practical.book import samples


def loss_net(hidden, label):
    prediction = fluid.layers.fc(input=hidden, size=10, act="softmax")
    loss = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_loss = fluid.layers.mean(loss)
    acc = fluid.layers.accuracy(input=prediction, label=label)
    return prediction, avg_loss, acc


def mlp(img, label):
    hidden = fluid.layers.fc(input=img, size=200, act="tanh")
    hidden = fluid.layers.fc(input=hidden, size=200, act="tanh")
    return loss_net(hidden, label)


def conv_net(img, label):
    conv_pool_1 = fluid.nets.simple_img_conv_pool(
        input=img, filter_size=5, num_filters=20, pool_size=2, pool_stride=2, act="relu"
    )
    conv_pool_1 = fluid.layers.batch_norm(conv_pool_1)
    conv_pool_2 = fluid.nets.simple_img_conv_pool(
        input=conv_pool_1, filter_size=5, num_filters=50, pool_size=2, pool_stride=2, act="relu"
    )
    return loss_net(conv_pool_2, label)


def train(nn_type, parallel, save_dirname):
    img = fluid.layers.data(name="img", shape=[1, 28, 28], dtype="float32")
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    net_conf = mlp if nn_type == "mlp" else conv_net
    if parallel:
        places = fluid.layers.get_places()
        pd = fluid.layers.ParallelDo(places)
        with pd.do():
            img_ = pd.read_input(img)
            label_ = pd.read_input(label)
            prediction, avg_loss, acc = net_conf(img_, label_)
            for o in [avg_loss, acc]:
                pd.write_output(o)
        avg_loss, acc = pd()
        avg_loss = fluid.layers.mean(avg_loss)
        acc = fluid.layers.mean(acc)
    else:
        prediction, avg_loss, acc = net_conf(img, label)

    test_program = fluid.default_main_program().clone(for_test=True)
    optimizer = fluid.optimizer.Adam(learning_rate=0.001)
    optimizer.minimize(avg_loss)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    train_reader = fluid.batch(fluid.reader.shuffle(samples.mnist, buf_size=500), batch_size=64)
    test_reader = fluid.batch(samples.mnist, batch_size=64)
    feeder = fluid.DataFeeder(feed_list=[img, label], place=place)

    exe.run(fluid.default_startup_program())
    for _ in range(3):
        for data in train_reader():
            exe.run(fluid.default_main_program(), feed=feeder.feed(data))
        acc_set, avg_loss_set = [], []
        for test_data in test_reader():
            acc_np, avg_loss_np = exe.run(
                program=test_program, feed=feeder.feed(test_data), fetch_list=[acc, avg_loss]
            )
            acc_set.append(float(acc_np[0]))
            avg_loss_set.append(float(avg_loss_np[0]))
        acc_val = numpy.array(acc_set).mean()
        if acc_val > 0.9:
            if not parallel:
                fluid.io.save_inference_model(save_dirname, ["img"], [prediction], exe)
            return acc_val
    return acc_val


def infer(save_dirname):
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.core.Scope()):
        [inference_program, feed_target_names, fetch_targets] = fluid.io.load_inference_model(
            save_dirname, exe
        )
        tensor_img = numpy.random.uniform(-1.0, 1.0, [5, 1, 28, 28]).astype("float32")
        results = exe.run(
            inference_program, feed={feed_target_names[0]: tensor_img}, fetch_list=fetch_targets
        )
        return results[0]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("nn_type", ["mlp", "conv"])
def test_digits_are_recognized(nn_type, parallel, tmp_path):
    with (
        fluid.scope_guard(fluid.core.Scope()),
        fluid.program_guard(fluid.Program(), fluid.Program()),
    ):
        assert train(nn_type, parallel, str(tmp_path)) > 0.9
        if not parallel:
            assert numpy.allclose(infer(str(tmp_path)).sum(axis=1), 1, atol=1e-5)


def test_the_evaluator_of_the_first_versions_gathers_accuracy_over_batches():
    with (
        fluid.scope_guard(fluid.core.Scope()),
        fluid.program_guard(fluid.Program(), fluid.Program()),
    ):
        image = fluid.layers.data(name="x", shape=[784], dtype="float32")
        hidden1 = fluid.layers.fc(
            input=image,
            size=128,
            act="relu",
            param_attr=fluid.ParamAttr(
                regularizer=fluid.regularizer.L2Decay(0.0005),
                gradient_clip=fluid.clip.ClipByValue(10),
            ),
        )
        predict = fluid.layers.fc(input=hidden1, size=10, act="softmax")
        label = fluid.layers.data(name="y", shape=[1], dtype="int64")
        cost = fluid.layers.cross_entropy(input=predict, label=label)
        avg_cost = fluid.layers.mean(x=cost)

        optimizer = fluid.optimizer.Momentum(learning_rate=0.01, momentum=0.9)
        opts = optimizer.minimize(avg_cost)
        assert opts is not None
        batch_size = fluid.layers.create_tensor(dtype="int64")
        batch_acc = fluid.layers.accuracy(input=predict, label=label, total=batch_size)

        inference_program = fluid.default_main_program().clone()
        with fluid.program_guard(inference_program):
            inference_program = fluid.io.get_inference_program([batch_acc, batch_size])

        accuracy = fluid.evaluator.Accuracy(input=predict, label=label)
        place = fluid.CPUPlace()
        exe = fluid.Executor(place)
        feeder = fluid.DataFeeder(feed_list=[image, label], place=place)
        exe.run(fluid.default_startup_program())
        train_reader = fluid.batch(samples.mnist, batch_size=128)
        for _ in range(3):
            accuracy.reset(exe)
            batches = []
            for data in train_reader():
                outs = exe.run(
                    fluid.default_main_program(),
                    feed=feeder.feed(data),
                    fetch_list=[avg_cost, *accuracy.metrics],
                )
                batches.append(float(outs[1][0]))
            pass_acc = accuracy.eval(exe)
            assert numpy.allclose(pass_acc, numpy.mean(batches), atol=1e-6)  # all of one size
        test_pass_acc = fluid.average.WeightedAverage()
        for data in train_reader():
            acc, weight = exe.run(
                inference_program, feed=feeder.feed(data), fetch_list=[batch_acc, batch_size]
            )
            test_pass_acc.add(value=acc, weight=weight)
        assert test_pass_acc.eval() > 0.9
