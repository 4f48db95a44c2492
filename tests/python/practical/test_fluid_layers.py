"""Layers with the arguments that Fluid's tests of them pass."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers, nets
from fluidcore.backward import append_backward
from fluidcore.executor import Executor
from fluidcore.framework import (
    Program,
    default_main_program,
    default_startup_program,
    grad_var_name,
    program_guard,
)
from fluidcore.layers.control_flow import merge_lod_tensor, split_lod_tensor
from fluidcore.optimizer import MomentumOptimizer


def test_the_layers_of_images_are_built():
    images = layers.data(name="pixel", shape=[3, 48, 48], dtype="float32")
    assert layers.conv2d(input=images, num_filters=3, filter_size=[4, 4]).shape[1:] == (3, 45, 45)
    img = layers.data(name="img", shape=[3, 2, 2], dtype="float32")
    up = layers.conv2d_transpose(num_filters=10, input=img, output_size=28)
    assert up.shape == (-1, 10, 28, 28)
    data = layers.data(name="data", shape=[6, 2, 2], dtype="float32")
    assert layers.lrn(data).shape == data.shape
    pool = layers.pool2d(
        input=images, pool_size=2, pool_type="max", pool_stride=2, global_pooling=False
    )
    assert pool.shape == (-1, 3, 24, 24)
    norm = layers.batch_norm(input=images, act="relu", is_test=False, data_layout="NCHW")
    assert norm.shape == images.shape
    assert layers.maxout(x=data, groups=2).shape == (-1, 3, 2, 2)


def test_the_layers_of_losses_are_built():
    dat = layers.data(name="data", shape=[10], dtype="float32")
    lbl = layers.data(name="label", shape=[10], dtype="float32")
    idx = layers.data(name="idx", shape=[1], dtype="int64")
    layers.sigmoid_cross_entropy_with_logits(x=dat, label=lbl)
    layers.softmax_with_cross_entropy(dat, idx)
    layers.smooth_l1(dat, lbl)
    layers.smooth_l1(dat, lbl, inside_weight=lbl, outside_weight=lbl, sigma=1.0)
    layers.square_error_cost(dat, lbl)
    layers.cos_sim(dat, lbl)
    layers.softmax(dat, use_cudnn=False)
    layers.label_smooth(label=lbl, epsilon=0.1, dtype="float32")
    values, indices = layers.topk(dat, k=5)
    assert values.shape == indices.shape == (-1, 5)
    layers.one_hot(input=idx, depth=4)
    layers.l2_normalize(dat, axis=1)
    layers.dropout(dat, 0.3, is_test=True, seed=1)
    layers.multiplex(inputs=[dat, lbl], index=layers.cast(idx, "int32"))
    layers.split(dat, num_or_sections=2, dim=1)
    layers.matmul(dat, lbl, transpose_y=True)
    layers.reduce_sum(dat, dim=1, keep_dim=True)
    layers.elementwise_add(x=dat, y=lbl, axis=-1, act="relu")
    layers.clip(x=dat, min=-1.0, max=1.0)
    layers.clip_by_norm(x=dat, max_norm=1.0)
    layers.scale(dat, scale=2.0)
    layers.reshape(x=dat, shape=[-1, 5, 2])
    layers.transpose(dat, perm=[1, 0])
    layers.expand(x=dat, expand_times=[1, 2])
    layers.pad(x=dat, paddings=[0, 0, 1, 1], pad_value=0.0)
    layers.sums(input=[dat, lbl])
    layers.assign(dat)
    layers.fill_constant_batch_size_like(input=dat, value=0.0, shape=[-1, 3], dtype="int64")
    layers.uniform_random_batch_size_like(dat, shape=[-1, 3])
    layers.create_tensor(dtype="float32")
    layers.argmin(x=dat, axis=1)
    layers.prelu(layers.data(name="p", shape=[3, 4, 4]), mode="all")
    layers.layer_norm(dat, begin_norm_axis=1)
    layers.autoincreased_step_counter()
    layers.leaky_relu(dat, alpha=0.1)
    layers.brelu(x=dat, t_min=1.0, t_max=2.0)
    layers.stanh(x=dat)
    layers.pow(x=dat, factor=2.0)
    layers.hard_shrink(x=dat, threshold=0.5)
    layers.thresholded_relu(x=dat, threshold=0.4)
    layers.sigmoid(dat)
    layers.logsigmoid(dat)
    layers.soft_relu(dat)
    layers.swish(dat, beta=1.0)


def test_units_and_nets_are_built():
    x_t = layers.data(name="x_t", shape=[10], dtype="float32")
    prev_hidden = layers.data(name="prev_hidden", shape=[30], dtype="float32")
    prev_cell = layers.data(name="prev_cell", shape=[30], dtype="float32")
    hidden, cell = layers.lstm_unit(
        x_t=x_t, hidden_t_prev=prev_hidden, cell_t_prev=prev_cell, forget_bias=1.0
    )
    assert hidden.shape == cell.shape == (-1, 30)
    assert nets.glu(input=x_t, dim=-1).shape == (-1, 5)
    queries = layers.data(name="q", shape=[3, 5, 9], append_batch_size=False)
    keys = layers.data(name="k", shape=[3, 6, 9], append_batch_size=False)
    values = layers.data(name="v", shape=[3, 6, 10], append_batch_size=False)
    contexts = nets.scaled_dot_product_attention(queries, keys, values)
    assert contexts.shape == (3, 5, 10)
    assert len(layers.get_places(device_count=4)) == 4


def test_a_while_loop_adds_up_an_array():
    d = [
        layers.data(f"d{i}", shape=[10], append_batch_size=False, dtype="float32") for i in range(3)
    ]
    i = layers.zeros(shape=[1], dtype="int64")
    i.stop_gradient = True
    init = layers.zeros(shape=[10], dtype="float32")
    mem_array = layers.array_write(x=init, i=i)
    data_array = layers.array_write(x=d[0], i=i)
    for each in d[1:]:
        i = layers.increment(i)
        layers.array_write(each, i, array=data_array)
    i = layers.zeros(shape=[1], dtype="int64")
    i.stop_gradient = True
    array_len = layers.fill_constant(shape=[1], dtype="int64", value=3)
    array_len.stop_gradient = True
    cond = layers.less_than(x=i, y=array_len)
    while_op = layers.While(cond=cond)
    with while_op.block():
        each = layers.array_read(array=data_array, i=i)
        prev = layers.array_read(array=mem_array, i=i)
        result = layers.sums(input=[each, prev])
        i = layers.increment(x=i, in_place=True)
        layers.array_write(result, i=i, array=mem_array)
        layers.less_than(x=i, y=array_len, cond=cond)
    sum_result = layers.array_read(array=mem_array, i=i)
    loss = layers.mean(sum_result)
    append_backward(loss)
    exe = Executor(core.CPUPlace())
    given = [np.random.random(size=[10]).astype("float32") for _ in range(3)]
    outs = exe.run(feed={"d0": given[0], "d1": given[1], "d2": given[2]}, fetch_list=[sum_result])
    assert np.allclose(outs[0], sum(given))


def test_a_conditional_block_has_a_gradient():
    data = layers.data(name="X", shape=[1], dtype="float32")
    data.stop_gradient = False
    cond = layers.ConditionalBlock(inputs=[data])
    out = layers.create_tensor(dtype="float32")
    with cond.block():
        hidden = layers.fc(input=data, size=10)
        layers.assign(hidden, out)
    exe = Executor(core.CPUPlace())
    exe.run(default_startup_program())
    x = np.random.random(size=(10, 1)).astype("float32")
    outs = exe.run(feed={"X": x}, fetch_list=[out])[0]
    assert outs.shape == (10, 10)
    loss = layers.mean(out)
    append_backward(loss=loss)
    gradient = default_main_program().block(0).var(data.name + "@GRAD")
    assert exe.run(feed={"X": x}, fetch_list=[gradient])[0].shape == (10, 1)


@pytest.mark.parametrize(("value", "expected"), [(-0.1, 0), (0.1, 1), (1.1, 2), (2.1, 3)])
def test_a_switch_takes_the_first_case_that_is_true(value, expected):
    x = layers.fill_constant(shape=[1], dtype="float32", value=value)
    zero_var, one_var, two_var, three_var = (
        layers.fill_constant(shape=[1], dtype="float32", value=float(i)) for i in range(4)
    )
    result = layers.create_global_var(shape=[1], value=-1.0, dtype="float32", persistable=True)
    with layers.Switch() as switch:
        with switch.case(layers.less_than(x, zero_var)):
            layers.assign(zero_var, result)
        with switch.case(layers.less_than(x, one_var)):
            layers.assign(one_var, result)
        with switch.case(layers.less_than(x, two_var)):
            layers.assign(two_var, result)
        with switch.default():
            layers.assign(three_var, result)
    exe = Executor(core.CPUPlace())
    exe.run(default_startup_program())
    assert exe.run(feed={}, fetch_list=[result])[0][0] == expected


def test_rows_are_split_and_merged_by_a_mask():
    x = layers.data(name="x", shape=[1])
    x.persistable = True
    y = layers.data(name="y", shape=[1], dtype="bool")
    out_true, out_false = split_lod_tensor(input=x, mask=y, level=0)
    out_true.persistable = True
    out_false.persistable = True
    out = merge_lod_tensor(in_true=out_true, in_false=out_false, mask=y, x=x, level=0)
    tensor = core.LoDTensor()
    tensor.set(np.arange(10).reshape(10, 1).astype("float32"), core.CPUPlace())
    mask_np = (np.arange(10) % 3 == 0).reshape(10, 1)
    mask = core.LoDTensor()
    mask.set(mask_np, core.CPUPlace())
    scope = core.Scope()
    exe = Executor(core.CPUPlace())
    (merged,) = exe.run(
        feed={"x": tensor, "y": mask}, fetch_list=[out], scope=scope, return_numpy=False
    )
    assert np.array(merged).ravel().tolist() == list(range(10))
    assert np.array(scope.find_var(out_true.name).get_tensor()).ravel().tolist() == [0, 3, 6, 9]
    with pytest.raises(ValueError, match="split_lod_tensor: level must be 0"):
        layers.split_lod_tensor(input=x, mask=y, level=1)
    with pytest.raises(ValueError, match="merge_lod_tensor: level must be 0"):
        layers.merge_lod_tensor(out_true, out_false, x, y, 1)


def test_digits_go_through_one_of_two_networks():
    prog, startup_prog = Program(), Program()
    with program_guard(prog, startup_prog):
        image = layers.data(name="x", shape=[784], dtype="float32")
        label = layers.data(name="y", shape=[1], dtype="int64")
        limit = layers.fill_constant_batch_size_like(
            input=label, dtype="int64", shape=[1, 1], value=5.0
        )
        cond = layers.less_than(x=label, y=limit)
        true_image, false_image = layers.split_lod_tensor(input=image, mask=cond)
        true_out = layers.create_tensor(dtype="float32")
        true_cond = layers.ConditionalBlock([true_image])
        with true_cond.block():
            hidden = layers.fc(input=true_image, size=100, act="tanh")
            prob = layers.fc(input=hidden, size=10, act="softmax")
            layers.assign(input=prob, output=true_out)
        false_out = layers.create_tensor(dtype="float32")
        false_cond = layers.ConditionalBlock([false_image])
        with false_cond.block():
            hidden = layers.fc(input=false_image, size=200, act="tanh")
            prob = layers.fc(input=hidden, size=10, act="softmax")
            layers.assign(input=prob, output=false_out)
        prob = layers.merge_lod_tensor(in_true=true_out, in_false=false_out, mask=cond, x=image)
        loss = layers.cross_entropy(input=prob, label=label)
        avg_loss = layers.mean(loss)
        optimizer = MomentumOptimizer(learning_rate=0.1, momentum=0.9)
        optimizer.minimize(avg_loss, startup_prog)
    exe = Executor(core.CPUPlace())
    exe.run(startup_prog)
    rng = np.random.default_rng(0)
    x_data = rng.normal(size=(64, 784)).astype("float32")
    y_data = rng.integers(0, 10, (64, 1))
    losses = [
        exe.run(prog, feed={"x": x_data, "y": y_data}, fetch_list=[avg_loss])[0][0]
        for _ in range(20)
    ]
    assert losses[-1] < 0.2 * losses[0]


def test_if_else_merges_the_outputs_of_its_blocks():
    image = layers.data(name="x", shape=[784], dtype="float32")
    label = layers.data(name="y", shape=[1], dtype="int64")
    limit = layers.fill_constant_batch_size_like(
        input=label, dtype="int64", shape=[1, 1], value=5.0
    )
    cond = layers.less_than(x=label, y=limit)
    ie = layers.IfElse(cond)
    for block in (ie.true_block, ie.false_block):
        with block():
            true_image = ie.input(image)
            hidden = layers.fc(input=true_image, size=100, act="tanh")
            prob = layers.fc(input=hidden, size=10, act="softmax")
            ie.output(prob)
    prob = ie()
    loss = layers.cross_entropy(input=prob[0], label=label)
    append_backward(layers.mean(loss))


def test_a_static_rnn_is_trained_through_its_memory():
    x = layers.data(shape=[4, 3, 2], dtype="float32", name="x", append_batch_size=False)
    x.stop_gradient = False
    h_boot = layers.data(shape=[2], dtype="float32", name="h_boot")
    h_boot.stop_gradient = False
    rnn = layers.StaticRNN()
    with rnn.step():
        h_pre = rnn.memory(init=h_boot)
        mem_pre = rnn.memory(shape=[-1, 2], batch_ref=x)
        x_t = rnn.step_input(x)
        temp_l = layers.fc(input=x_t, size=2, param_attr="W", bias_attr=False)
        temp_r = layers.fc(input=h_pre, size=2, param_attr="U", bias_attr=False)
        h = layers.sigmoid(x=layers.elementwise_add(x=temp_l, y=temp_r))
        rnn.update_memory(h_pre, h)
        rnn.update_memory(mem_pre, layers.elementwise_add(x=mem_pre, y=x_t))
        rnn.output(h)
    output = layers.mean(rnn())
    append_backward(output)
    exe = Executor(core.CPUPlace())
    exe.run(default_startup_program())
    feed = {
        "x": np.random.normal(size=(4, 3, 2)).astype("float32"),
        "h_boot": np.random.normal(size=(3, 2)).astype("float32"),
    }
    names = [grad_var_name(name) for name in ("x", "h_boot", "W", "U")]
    fetch_list = [default_main_program().global_block().var(name) for name in names]
    outs = exe.run(feed=feed, fetch_list=fetch_list, return_numpy=False)
    assert [np.array(out).shape for out in outs] == [(4, 3, 2), (3, 2), (2, 2), (2, 2)]


def test_arrays_are_written_read_and_differentiated():
    x = [layers.data(name=f"x{i}", shape=[100]) for i in range(3)]
    for each_x in x:
        each_x.stop_gradient = False
    i = layers.zeros(shape=[1], dtype="int64")
    i.stop_gradient = False
    arr = layers.array_write(x=x[0], i=i)
    for each_x in x[1:]:
        i = layers.increment(x=i)
        arr = layers.array_write(x=each_x, i=i, array=arr)
    i = layers.zeros(shape=[1], dtype="int64")
    reads = [layers.array_read(array=arr, i=i)]
    for _ in x[1:]:
        i = layers.increment(x=i)
        reads.append(layers.array_read(array=arr, i=i))
    a_sum = layers.sums(input=[layers.mean(a) for a in reads])
    x_sum = layers.sums(input=[layers.mean(each) for each in x])
    exe = Executor(core.CPUPlace())
    tensor = core.LoDTensor()
    tensor.set(np.random.random(size=(100, 100)).astype("float32"), core.CPUPlace())
    feed = {"x0": tensor, "x1": tensor, "x2": tensor}
    outs = exe.run(feed=feed, fetch_list=[a_sum, x_sum], scope=core.Scope())
    assert outs[0] == pytest.approx(outs[1])
    total_sum = layers.sums(input=[a_sum, x_sum])
    total_sum_scaled = layers.scale(x=total_sum, scale=1 / 6.0)
    append_backward(total_sum_scaled)
    g_vars = list(
        map(default_main_program().global_block().var, [each.name + "@GRAD" for each in x])
    )
    g_out = [item.sum() for item in exe.run(feed=feed, fetch_list=g_vars)]
    assert sum(g_out) == pytest.approx(1.0, abs=1e-3)


def test_variables_are_added_to_numbers():
    a = layers.data(name="a", shape=[1])
    results = [a + 10, 10 - a, a * 3, a / 10, 10 / a, a - layers.ones(shape=[1], dtype="float32")]
    a_np = np.random.uniform(1, 2, [4, 1]).astype("float32")
    expected = [a_np + 10, 10 - a_np, a_np * 3, a_np / 10, 10 / a_np, a_np - 1]
    outs = fluid.Executor(fluid.CPUPlace()).run(feed={"a": a_np}, fetch_list=results)
    for out, value in zip(outs, expected, strict=True):
        assert np.allclose(out, value)


DECAYS = {
    "exponential_decay": ({"decay_steps": 5, "decay_rate": 0.5, "staircase": True}, 0.5),
    "natural_exp_decay": ({"decay_steps": 5, "decay_rate": 0.5, "staircase": True}, 0.60653),
    "inverse_time_decay": ({"decay_steps": 5, "decay_rate": 0.5, "staircase": True}, 1 / 1.5),
    "polynomial_decay": ({"decay_steps": 5, "cycle": True}, None),
}


@pytest.mark.parametrize("name", list(DECAYS))
def test_learning_rates_decay_as_the_steps_are_counted(name):
    kwargs, after_five = DECAYS[name]
    decayed_lr = getattr(layers, name)(learning_rate=1.0, **kwargs)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fluid.memory_optimize(fluid.default_main_program())
    rates = [
        exe.run(fluid.default_main_program(), feed={}, fetch_list=[decayed_lr])[0][0]
        for _ in range(8)
    ]
    assert rates[0] == pytest.approx(1.0)
    if after_five is not None:
        assert rates[5] == pytest.approx(after_five, rel=1e-4)


def test_a_piecewise_rate_is_constant_between_boundaries():
    decayed_lr = layers.learning_rate_scheduler.piecewise_decay(
        boundaries=[3, 6, 9], values=[0.1, 0.2, 0.3, 0.4]
    )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rates = [exe.run(feed={}, fetch_list=[decayed_lr])[0][0] for _ in range(10)]
    assert rates == pytest.approx([0.1] * 3 + [0.2] * 3 + [0.3] * 3 + [0.4], rel=1e-6)
