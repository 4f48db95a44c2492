import numpy
import pytest

import fluidcore as fluid
from tests.python.practical.book import samples


def resnet_cifar10(input, depth=32):
    def conv_bn_layer(input, ch_out, filter_size, stride, padding, act="relu", bias_attr=False):
        tmp = fluid.layers.conv2d(
            input=input,
            filter_size=filter_size,
            num_filters=ch_out,
            stride=stride,
            padding=padding,
            act=None,
            bias_attr=bias_attr,
        )
        return fluid.layers.batch_norm(input=tmp, act=act)

    def shortcut(input, ch_in, ch_out, stride):
        if ch_in != ch_out:
            return conv_bn_layer(input, ch_out, 1, stride, 0, None)
        return input

    def basicblock(input, ch_in, ch_out, stride):
        tmp = conv_bn_layer(input, ch_out, 3, stride, 1)
        tmp = conv_bn_layer(tmp, ch_out, 3, 1, 1, act=None, bias_attr=True)
        short = shortcut(input, ch_in, ch_out, stride)
        return fluid.layers.elementwise_add(x=tmp, y=short, act="relu")

    def layer_warp(block_func, input, ch_in, ch_out, count, stride):
        tmp = block_func(input, ch_in, ch_out, stride)
        for _ in range(1, count):
            tmp = block_func(tmp, ch_out, ch_out, 1)
        return tmp

    n = (depth - 2) // 6
    conv1 = conv_bn_layer(input=input, ch_out=4, filter_size=3, stride=1, padding=1)
    res1 = layer_warp(basicblock, conv1, 4, 4, n, 1)
    res2 = layer_warp(basicblock, res1, 4, 8, n, 2)
    res3 = layer_warp(basicblock, res2, 8, 16, n, 2)
    return fluid.layers.pool2d(input=res3, pool_size=8, pool_type="avg", pool_stride=1)


def vgg16_bn_drop(input):
    def conv_block(input, num_filter, groups, dropouts):
        return fluid.nets.img_conv_group(
            input=input,
            pool_size=2,
            pool_stride=2,
            conv_num_filter=[num_filter] * groups,
            conv_filter_size=3,
            conv_act="relu",
            conv_with_batchnorm=True,
            conv_batchnorm_drop_rate=dropouts,
            pool_type="max",
        )

    conv1 = conv_block(input, 4, 2, [0.3, 0])
    conv2 = conv_block(conv1, 8, 2, [0.4, 0])
    conv3 = conv_block(conv2, 16, 3, [0.4, 0.4, 0])
    conv4 = conv_block(conv3, 16, 3, [0.4, 0.4, 0])
    conv5 = conv_block(conv4, 16, 3, [0.4, 0.4, 0])
    drop = fluid.layers.dropout(x=conv5, dropout_prob=0.5)
    fc1 = fluid.layers.fc(input=drop, size=64, act=None)
    bn = fluid.layers.batch_norm(input=fc1, act="relu")
    drop2 = fluid.layers.dropout(x=bn, dropout_prob=0.5)
    return fluid.layers.fc(input=drop2, size=64, act=None)


def train(net_type, save_dirname):
    images = fluid.layers.data(name="pixel", shape=[3, 32, 32], dtype="float32")
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    net = vgg16_bn_drop(images) if net_type == "vgg" else resnet_cifar10(images, 8)
    predict = fluid.layers.fc(input=net, size=10, act="softmax")
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    avg_cost = fluid.layers.mean(cost)
    acc = fluid.layers.accuracy(input=predict, label=label)
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.01).minimize(avg_cost)
    fluid.memory_optimize(fluid.default_main_program())

    train_reader = fluid.batch(samples.cifar10, batch_size=16)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(place=place, feed_list=[images, label])
    exe.run(fluid.default_startup_program())
    losses = []
    for _ in range(4):
        for data in train_reader():
            (loss,) = exe.run(feed=feeder.feed(data), fetch_list=[avg_cost])
            losses.append(float(loss[0]))
    loss_t, acc_t = exe.run(
        program=test_program, feed=feeder.feed(data), fetch_list=[avg_cost, acc]
    )
    assert numpy.isfinite(loss_t).all()
    assert 0 <= acc_t[0] <= 1
    fluid.io.save_inference_model(save_dirname, ["pixel"], [predict], exe)
    return losses


def infer(save_dirname):
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.core.Scope()):
        [inference_program, feed_target_names, fetch_targets] = fluid.io.load_inference_model(
            save_dirname, exe
        )
        tensor_img = numpy.random.rand(1, 3, 32, 32).astype("float32")
        results = exe.run(
            inference_program, feed={feed_target_names[0]: tensor_img}, fetch_list=fetch_targets
        )
        return results[0]


@pytest.mark.parametrize("net_type", ["resnet", "vgg"])
def test_images_are_classified(net_type, tmp_path):
    with (
        fluid.scope_guard(fluid.core.Scope()),
        fluid.program_guard(fluid.Program(), fluid.Program()),
    ):
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 1
        losses = train(net_type, str(tmp_path))
        assert numpy.isfinite(losses).all()
        if net_type == "resnet":  # the other one drops too much to learn anything in 16 steps
            assert numpy.mean(losses[-4:]) < numpy.mean(losses[:4])
        assert infer(str(tmp_path)).shape == (1, 10)
