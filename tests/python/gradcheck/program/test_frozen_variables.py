"""Results that backward takes for constants."""

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck.program.frozen_variables import frozen_variables
from fluidcore.program import Variable


def stopped(var: Variable) -> Variable:
    var.stop_gradient = True
    return var


def frozen(loss: Variable, *also: str) -> list[str]:
    desc = fluid.default_main_program().desc
    return frozen_variables(desc, [loss.name], ["w"], also)


def test_what_stops_gradients_on_the_way_is_frozen_and_nothing_beside_it() -> None:
    w = layers.create_parameter([3], "float32", "w")
    x = layers.data("x", [3], append_batch_size=False)
    beside, scaled = stopped(layers.square(x)), layers.tanh(w)
    weights = stopped(layers.softmax(scaled))
    loss = layers.mean(weights * scaled * beside)
    assert frozen(loss) == [weights.name]
    assert frozen(loss, scaled.name) == [scaled.name]  # nothing moves the weights any more


def test_a_loss_that_stops_gradients_is_not_held() -> None:
    loss = stopped(layers.mean(layers.create_parameter([3], "float32", "w")))
    assert frozen(loss) == []
