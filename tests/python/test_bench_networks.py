"""The benchmark of networks: what it trains, what it measures, and its tables."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from bench import networks, networks_with_fluidcore, with_fluidcore
from bench.workloads import (
    TRAINING,
    Weights,
    Workload,
    batch,
    depth,
    language_model,
    transformer,
    weights,
)
from fluidcore import layers


def row(framework: str, workload: str, seconds: float, **more: object) -> dict[str, object]:
    shared = {"framework": framework, "workload": workload, "threads": 2, "median": seconds}
    return {**shared, "losses": [2.0, 1.0, 0.5], **more}


def lines(rows: list[dict[str, object]]) -> list[list[str]]:
    (table,) = networks.Results(rows).tables()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


@pytest.mark.parametrize("name", TRAINING)
def test_a_network_has_the_parameters_that_the_weights_say(name: str) -> None:
    values = weights(TRAINING[name])
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        dtype = "int64" if TRAINING[name].vocabulary else "float32"
        x = layers.data("x", TRAINING[name].example, dtype=dtype)
        logits = getattr(networks_with_fluidcore, TRAINING[name].network)(x, values)
    trained = [parameter for parameter in main.all_parameters() if parameter.trainable]
    shapes = {parameter.name: parameter.shape for parameter in trained}
    assert shapes == {name: value.shape for name, value in values.items()}
    assert logits.shape == (-1, TRAINING[name].vocabulary or 10)


def test_a_text_is_labelled_with_the_next_words() -> None:
    examples, labels = batch(TRAINING["e"], 3)
    assert examples.shape == (3, 32)
    np.testing.assert_array_equal(labels.reshape(3, 32)[:, :-1], examples[:, 1:])


TEXT = TRAINING["e"]._replace(batch=2, example=(3,), layers=language_model(5, 2, 2), vocabulary=5)
SEQUENCE = TRAINING["f"]._replace(
    batch=2,
    example=(3, 4),
    layers=transformer(1, 4, 3),
    settings={"lr": 0.1, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def language_model_logits(x: np.ndarray, w: Weights) -> np.ndarray:
    hidden = cell = np.zeros((len(x), len(w["lstm.0.u"])))
    states = []
    for step in w["table.w"][x].swapaxes(0, 1):
        gates = step @ w["lstm.0.w"] + hidden @ w["lstm.0.u"] + w["lstm.0.b"]
        enter, forget, output, candidate = np.split(gates, 4, axis=1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(candidate)
        hidden = sigmoid(output) * np.tanh(cell)
        states.append(hidden)
    return np.stack(states, 1).reshape(-1, hidden.shape[1]) @ w["out.w"] + w["out.b"]


def gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2


def transformer_logits(x: np.ndarray, w: Weights) -> np.ndarray:
    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return centred / deviation * w[f"{name}.scale"] + w[f"{name}.shift"]

    def fc(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.w"] + w[f"{name}.b"]

    for index in range(depth(w)):
        qkv = fc(norm(x, f"{index}.norm1"), f"{index}.qkv")
        q, k, v = np.split(qkv.swapaxes(1, 2)[..., None], 3, axis=1)  # a head for each feature
        scores = np.exp(q @ k.swapaxes(2, 3))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ v
        x = x + fc(mixed[..., 0].swapaxes(1, 2), f"{index}.mix")
        x = x + fc(gelu(fc(norm(x, f"{index}.norm2"), f"{index}.up")), f"{index}.down")
    return fc(norm(x, "norm").mean(1), "out")


def losses(
    workload: Workload, logits_of: Callable[[np.ndarray, Weights], np.ndarray]
) -> list[float]:
    """Of three steps in NumPy, with differences for gradients."""
    examples, labels = batch(workload)
    values = {name: value.astype(np.float64) for name, value in weights(workload).items()}
    moments = {name: np.zeros((2, *value.shape)) for name, value in values.items()}

    def loss() -> float:
        logits = logits_of(examples, values)
        logarithms = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return -float(logarithms[np.arange(len(labels)), labels].mean())

    result = []
    for step in range(1, 4):
        result.append(loss())
        gradients = {name: difference(loss, value) for name, value in values.items()}
        for name, gradient in gradients.items():
            values[name] -= update(workload, gradient, moments[name], step)
    return result


def difference(loss: Callable[[], float], value: np.ndarray) -> np.ndarray:
    gradient = np.empty_like(value)
    for index in np.ndindex(value.shape):
        before = value[index]
        sides = []
        for moved in (before - 1e-6, before + 1e-6):
            value[index] = moved
            sides.append(loss())
        value[index] = before
        gradient[index] = (sides[1] - sides[0]) / 2e-6
    return gradient


def update(workload: Workload, gradient: np.ndarray, moments: np.ndarray, step: int) -> np.ndarray:
    s = workload.settings
    if workload.optimizer == "sgd":
        return s["lr"] * gradient
    moments[0] = s["beta1"] * moments[0] + (1 - s["beta1"]) * gradient
    moments[1] = s["beta2"] * moments[1] + (1 - s["beta2"]) * gradient**2
    first, second = moments[0] / (1 - s["beta1"] ** step), moments[1] / (1 - s["beta2"] ** step)
    return s["lr"] * first / (np.sqrt(second) + s["epsilon"])


@pytest.mark.parametrize(
    ("workload", "logits_of"),
    [(TEXT, language_model_logits), (SEQUENCE, transformer_logits)],
    ids=["language model", "transformer"],
)
def test_three_steps_have_the_losses_of_numpy(
    workload: Workload, logits_of: Callable[[np.ndarray, Weights], np.ndarray]
) -> None:
    step = with_fluidcore.train_step(workload)
    np.testing.assert_allclose([step() for _ in range(3)], losses(workload, logits_of), rtol=1e-4)


def test_inference_gives_the_logits_of_numpy() -> None:
    examples, _ = batch(SEQUENCE, 3)
    expected = transformer_logits(examples, weights(SEQUENCE))
    np.testing.assert_allclose(with_fluidcore.infer(SEQUENCE, 3)(), expected, rtol=1e-4, atol=1e-5)


def test_flops_are_those_of_the_products() -> None:
    assert with_fluidcore.count_flops(with_fluidcore.product(8)) == 2 * 8**3


def test_the_fastest_peer_is_shown_with_its_ratio_and_what_bounds_the_step() -> None:
    bound = {"flops": 1e9, "product_flops_per_second": 200e9}
    _, _, first, mean = lines(
        [
            row("fluidcore", "d", 0.01, **bound),
            row("torch", "d", 0.04),
            row("torch channels_last", "d", 0.02),
        ]
    )
    assert first[1:7] == [
        "10.000",
        "20.000",
        "torch channels_last",
        "2.00x",
        "1.2x: met",
        "0.0e+00",
    ]
    assert first[7:] == ["1", "100", "50%"]
    assert mean[4:6] == ["2.00x", ""]  # of one row of six: not judged


def test_each_row_and_the_mean_of_all_rows_have_a_target() -> None:
    names = [f"infer-{name} {size}" for name in "bcdf" for size in (1, 32)]
    rows = [row("fluidcore", name, 0.01) for name in names]
    rows += [row("onnx runtime", name, 0.011) for name in names[1:]]
    rows.append(row("onnx runtime", names[0], 0.009))
    results = networks.Results(rows)
    (table,) = results.tables()
    assert (
        "| b: MLP 784-1024-1024-10, batch 1 | 10.000 | 9.000 | onnx runtime | 0.90x | 1x: missed"
        in table
    )
    assert table.count("1x: met") == 7
    assert results.complaints == [
        "infer-b 1: 0.90x, target 1x missed",
        "geometric mean, inference: 1.07x, target 1.15x missed",
    ]


def test_results_that_differ_are_a_complaint() -> None:
    rows = [row("fluidcore", "e", 1.0), row("jax", "e", 2.0, losses=[2.0, 1.002, 0.5])]
    results = networks.Results(rows)
    results.tables()
    assert results.complaints == ["the results of e differ by 2.00e-03"]


def test_what_failed_is_no_peer() -> None:
    failed = {"framework": "torch", "workload": "e", "threads": 2, "error": "died"}
    _, _, first, *_ = lines([row("fluidcore", "e", 1.0), failed])
    assert first[2:5] == ["-", "-", "-"]


def test_every_way_of_a_peer_takes_part_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def measure(framework: networks.Framework, workload: str, threads: int, *_: str) -> object:
        measured.append((framework.name, workload))
        return {}

    monkeypatch.setattr(networks, "measure", measure)
    frameworks = [networks.Framework(name, "python") for name in ("fluidcore", "torch", "onnx")]
    workloads = networks.expanded(["d", "e", "infer-c", "infer-c"])
    known = [row("torch compile", "d", 1.0), row("fluidcore", "infer-c 1", 1.0)]
    list(networks.measurements(frameworks, workloads, [2], 1, known))
    assert measured == [
        ("fluidcore", "d"),
        ("torch", "d"),
        ("torch channels_last", "d"),
        ("fluidcore", "e"),
        ("torch", "e"),
        ("torch compile", "e"),
        ("onnx runtime", "infer-c 1"),
        ("onnx openvino", "infer-c 1"),
        ("fluidcore", "infer-c 32"),
        ("onnx runtime", "infer-c 32"),
        ("onnx openvino", "infer-c 32"),
    ]


def test_infer_stands_for_all_inference() -> None:
    assert networks.expanded(["infer"]) == ["infer-b", "infer-c", "infer-d", "infer-f"]
