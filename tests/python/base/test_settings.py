import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import initializer, optimizer, regularizer
from fluidcore.base.settings import Settings


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (optimizer.SGD(0.1), "SGDOptimizer(learning_rate=0.1)"),
        (
            optimizer.Adam(beta1=0.5),
            "AdamOptimizer(learning_rate=0.001, beta1=0.5, beta2=0.999, epsilon=1e-08)",
        ),
        (
            optimizer.Momentum(
                0.1, 0.9, use_nesterov=True, regularization=regularizer.L2Decay(0.01)
            ),
            "MomentumOptimizer(learning_rate=0.1, momentum=0.9, use_nesterov=True, "
            "regularization=L2DecayRegularizer(regularization_coeff=0.01))",
        ),
        (initializer.Normal(0.0, 0.02), "NormalInitializer(loc=0, scale=0.02)"),
        (initializer.Constant(), "ConstantInitializer(value=0)"),
        (initializer.MSRA(uniform=False), "MSRAInitializer(uniform=False)"),
        (initializer.NumpyArray([[1.5, 2.5]]), "NumpyArrayInitializer(value=<float64 [1, 2]>)"),
        (initializer.Bilinear(), "BilinearInitializer()"),
        (regularizer.L1Decay(0.5), "L1DecayRegularizer(regularization_coeff=0.5)"),
        (fluid.ErrorClipByValue(max=2.0), "ErrorClipByValue(max=2, min=-2)"),
        (fluid.GradientClipByNorm(3.0), "GradientClipByNorm(clip_norm=3)"),
        (
            fluid.ParamAttr("w", initializer.Xavier(), trainable=False),
            "ParamAttr(name='w', initializer=XavierInitializer(), learning_rate=1, "
            "trainable=False)",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_print_the_settings_that_matter(made: object, text: str) -> None:
    assert repr(made) == text


def test_a_variable_as_setting_prints_as_it_is() -> None:
    rate = fluid.layers.fill_constant([1], "float32", 0.1)
    assert repr(optimizer.SGD(rate)).startswith(
        "SGDOptimizer(learning_rate=Variable('fill_constant"
    )


def test_a_class_of_the_user_prints_what_it_keeps() -> None:
    class Mine(Settings):
        def __init__(self, kept: int, lost: int, text: str = "a", *rest: int) -> None:
            self.kept, self.text = kept + lost, text

    assert repr(Mine(1, 2)) == "Mine(kept=3)"
    assert repr(Mine(1, 2, "b" * 100)) == f"Mine(kept=3, text='{'b' * 59}...)"


def test_arrays_as_defaults_are_compared_by_identity() -> None:
    default = np.zeros(3)

    class Mine(Settings):
        def __init__(self, array: np.ndarray = default) -> None:
            self.array = array

    assert repr(Mine()) == "Mine()"
    assert repr(Mine(np.zeros(3))) == "Mine(array=<float64 [3]>)"
