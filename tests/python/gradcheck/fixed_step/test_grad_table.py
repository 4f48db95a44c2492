import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.gradcheck import grad_table

Pairs = list[tuple[fluid.program.Parameter, fluid.Variable | None]]


def feed(batch: int = 6) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "image": rng.standard_normal((batch, 1, 8, 8)).astype(np.float32),
        "label": rng.integers(0, 4, (batch, 1)),
    }


def convolutional_network(
    dropout: bool = False, smooth: bool = False
) -> tuple[fluid.Variable, Pairs]:
    fluid.default_startup_program().random_seed = 1
    image = fluid.layers.data("image", [1, 8, 8])
    label = fluid.layers.data("label", [1], dtype="int64")
    x = fluid.layers.conv2d(image, 3, 3, padding=1)
    x = fluid.layers.batch_norm(x, act="tanh" if smooth else "relu")
    pool_type = "avg" if smooth else "max"
    x = fluid.layers.pool2d(x, pool_size=2, pool_type=pool_type, pool_stride=2)
    if dropout:
        x = fluid.layers.dropout(x, 0.3)
    logits = fluid.layers.fc(x, 4)
    loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
    pairs = fluid.append_backward(loss)
    fluid.Executor().run(fluid.default_startup_program())
    return loss, pairs


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dropout", [False, True], ids=["", "with dropout"])
def test_every_gradient_of_a_convolutional_network_is_right(dropout: bool, dtype: str) -> None:
    # The steps that float32 needs are so long that some would lead across a kink.
    loss, pairs = convolutional_network(dropout, smooth=dtype == "float32")
    table = grad_table(fluid.default_main_program(), loss, feed(), pairs, dtype=dtype)
    assert [row.name for row in table] == [p.name for p, _ in pairs]
    assert [row.shape for row in table] == [p.shape for p, _ in pairs]
    assert [row.checked for row in table] == [min(20, int(np.prod(p.shape))) for p, _ in pairs]
    assert all(row.ok for row in table), table
    if dtype == "float64":
        assert max(row.max_rel_error for row in table) < 1e-6


@pytest.mark.parametrize("factor", [1.01, -1.0, 0.0])
def test_a_planted_error_is_found_in_its_parameter_only(factor: float) -> None:
    loss, pairs = convolutional_network()
    block = fluid.default_main_program().global_block()
    name, wrong = pairs[-2][0].name, pairs[-2][1]
    assert wrong is not None
    block.append_op("scale", {"X": wrong}, {"Out": "wrong"}, {"scale": factor})
    pairs[-2] = (pairs[-2][0], block.var("wrong"))
    table = grad_table(fluid.default_main_program(), loss, feed(), pairs)
    assert [row.name for row in table if not row.ok] == [name]


def test_neither_the_program_nor_the_scope_changes() -> None:
    loss, pairs = convolutional_network()
    fluid.optimizer.SGD(learning_rate=0.1)
    program, scope = fluid.default_main_program(), fluid.global_scope()
    text = str(program)
    before = {n: np.array(scope.find_var(n).get_tensor()) for n in scope.local_var_names()}
    grad_table(program, loss, feed(), pairs)
    assert str(program) == text
    assert set(scope.local_var_names()) == set(before)
    for name, value in before.items():
        np.testing.assert_array_equal(np.asarray(scope.find_var(name).get_tensor()), value)


def test_a_seed_chooses_the_same_elements_again() -> None:
    loss, pairs = convolutional_network()
    program = fluid.default_main_program()
    first, again = (grad_table(program, loss, feed(), pairs, elements=3) for _ in range(2))
    assert first == again
    assert [row.checked for row in first] == [3] * len(first)
    everything = grad_table(program, loss, feed(), pairs, elements=0)
    assert [row.checked for row in everything] == [int(np.prod(p.shape)) for p, _ in pairs]


def test_a_parameter_that_the_loss_does_not_depend_on_has_no_row() -> None:
    loss, pairs = convolutional_network()
    table = grad_table(fluid.default_main_program(), loss.name, feed(), [(pairs[0][0], None)])
    assert table == []


def test_missing_data_and_other_dtypes_are_errors() -> None:
    loss, pairs = convolutional_network()
    program = fluid.default_main_program()
    with pytest.raises(ValueError, match="must have a value, got none for 'label'"):
        grad_table(program, loss, {"image": feed()["image"]}, pairs)
    message = "grad_table: dtype must be float32 or float64, got 'float16'"
    with pytest.raises(core.InvalidArgument, match=message):
        grad_table(program, loss, feed(), pairs, dtype="float16")
