"""Goal G12: a check that is made again gives the same report, but for its seconds."""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
import pytest
from targets import FAULTS, FUNCTIONS, NumpyTarget, planted, target_of

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.adapters.program import program_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.json_ import json_text
from fluidcore.gradcheck.target.target import Target

X = np.random.default_rng(3).standard_normal((6, 5))


def perceptron() -> Target:
    """A Program with parameters, random dropout."""
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    startup.random_seed = main.random_seed = 4
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = layers.data("x", [6, 5], dtype="float64", append_batch_size=False)
        hidden = layers.dropout(layers.fc(x, 4, act="relu", param_attr="w"), 0.3)
        loss = layers.mean(layers.square(layers.fc(hidden, 3, param_attr="u")))
        fluid.Executor().run(startup, scope=scope)
    return program_target(main, {"x": X}, [loss], ["w", "u"], scope=scope)


TARGETS: dict[str, tuple[Callable[[], Target], dict[str, object]]] = {
    "operator": (lambda: operator_target("softmax", {"X": X}), {}),
    "operator, float32": (lambda: operator_target("gelu", {"X": X.astype(np.float32)}), {}),
    "operator, bfloat16 alone": (lambda: target_of("tanh", "bfloat16"), {"shadow": "off"}),
    "several inputs": (
        lambda: operator_target("matmul", {"X": X, "Y": X.T.copy()}),
        {"cotangents": 3},
    ),
    "function, float16": (lambda: target_of("layer_norm", "float16"), {}),
    "a wrong function": (lambda: planted(target_of("rnn"), FAULTS["one element"]), {}),
    "a wrong kernel": (lambda: planted(target_of("matmul", "float32"), FAULTS["sign"], k=1), {}),
    "kinks": (lambda: target_of("relu_ties"), {}),
    "directions": (lambda: operator_target("tanh", {"X": X}), {"mode": "directional"}),
    "rows": (lambda: operator_target("tanh", {"X": X}), {"mode": "coloured"}),
    "rows of a function": (
        lambda: NumpyTarget(*FUNCTIONS["softmax"][:2], [X], rows=6),
        {"mode": "coloured"},
    ),
    "a part": (lambda: operator_target("sigmoid", {"X": X}), {"subset": 7}),
    "a program": (perceptron, {}),
    "the plain comparison": (lambda: operator_target("exp", {"X": X}), {"epsilon": 1e-5}),
}


def report(name: str, workers: int) -> str:
    make, settings = TARGETS[name]
    found = run_check(make(), GradCheckConfig(seed=11, verbose=True, workers=workers, **settings))
    timeless = tuple(dataclasses.replace(one, seconds=0.0) for one in found.results)
    return json_text([dataclasses.replace(found, results=timeless)])


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_reruns_give_the_same_report(name: str) -> None:
    assert report(name, 1) == report(name, 2) == report(name, 3)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_thousand_reruns_give_the_same_report() -> None:
    first = {name: report(name, 1) for name in TARGETS}
    turns = zip(range(1000), itertools.cycle(TARGETS), itertools.cycle((1, 2, 3, 5)), strict=False)
    for _, name, workers in turns:
        assert report(name, workers) == first[name], (name, workers)
