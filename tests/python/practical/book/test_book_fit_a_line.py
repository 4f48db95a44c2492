import math

import numpy

import fluidcore as fluid
from tests.python.practical.book import samples


def train(save_dirname):
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    avg_cost = fluid.layers.mean(cost)

    sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.01)
    sgd_optimizer.minimize(avg_cost)

    train_reader = fluid.batch(
        fluid.reader.shuffle(samples.uci_housing, buf_size=500), batch_size=20
    )
    place = fluid.CUDAPlace(0) if fluid.core.is_compiled_with_cuda() else fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    exe.run(fluid.default_startup_program())
    for _ in range(100):
        for data in train_reader():
            (avg_loss_value,) = exe.run(
                fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost]
            )
            if avg_loss_value[0] < 0.1:
                fluid.io.save_inference_model(save_dirname, ["x"], [y_predict], exe)
                return True
            assert not math.isnan(avg_loss_value[0])
    return False


def infer(save_dirname):
    exe = fluid.Executor(fluid.CPUPlace())
    inference_scope = fluid.core.Scope()
    with fluid.scope_guard(inference_scope):
        [inference_program, feed_target_names, fetch_targets] = fluid.io.load_inference_model(
            save_dirname, exe
        )
        tensor_x = numpy.random.uniform(0, 10, [10, 13]).astype("float32")
        assert feed_target_names[0] == "x"
        results = exe.run(
            inference_program, feed={feed_target_names[0]: tensor_x}, fetch_list=fetch_targets
        )
        return results[0]


def test_a_line_is_fitted_saved_and_used(tmp_path):
    with (
        fluid.scope_guard(fluid.core.Scope()),
        fluid.program_guard(fluid.Program(), fluid.Program()),
    ):
        assert train(str(tmp_path / "fit_a_line.inference.model"))
        assert infer(str(tmp_path / "fit_a_line.inference.model")).shape == (10, 1)
