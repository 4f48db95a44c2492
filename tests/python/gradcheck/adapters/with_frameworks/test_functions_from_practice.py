"""Functions as people write them: the right gradient passes, and what is slightly wrong fails."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fluidcore.gradcheck import Verdict, check

torch = pytest.importorskip("torch")
functional = torch.nn.functional

DOUBLE = torch.float64
RANDOM = torch.Generator().manual_seed(7)


def tensor(*values: Any) -> Any:
    return torch.tensor(values, dtype=DOUBLE)


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=RANDOM, dtype=DOUBLE)


def uniform(*shape: int, low: float = 0.1, high: float = 2.0) -> Any:
    return low + (high - low) * torch.rand(*shape, generator=RANDOM, dtype=DOUBLE)


DATA = normal(20)
FEATURES = normal(20, 3)
TIMES = torch.linspace(0, 3, 20, dtype=DOUBLE)
IMAGE = normal(1, 2, 7, 7)
POINTS = normal(9, 3)
COUPLING = 0.3 * normal(4, 4)


def lorenz(s: Any) -> Any:
    for _ in range(40):
        x, y, z = s[0], s[1], s[2]
        s = s + 0.01 * torch.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
    return s


def kepler(p: Any) -> Any:
    mean, eccentricity = p[0], p[1]
    angle = mean
    for _ in range(12):
        off = angle - eccentricity * torch.sin(angle) - mean
        angle = angle - off / (1 - eccentricity * torch.cos(angle))
    side = torch.sqrt(1 - eccentricity**2) * torch.sin(angle)
    return torch.stack([torch.cos(angle) - eccentricity, side])


def lennard_jones(x: Any) -> Any:
    pairs = torch.triu_indices(len(x), len(x), 1)
    squares = (x[:, None] - x[None]).pow(2).sum(-1)[pairs[0], pairs[1]]
    s = 1 / squares**3
    return torch.where(squares < 6.25, 4 * (s * s - s), 0.0).sum()


def burgers(u: Any) -> Any:
    for _ in range(30):
        flow = torch.where(u > 0, u * u / 2, 0.0)
        u = u - 0.1 * (flow - torch.roll(flow, 1))
    return u


def mixture(p: Any) -> Any:
    mean, log_width, weight = p[:3], p[3:6], torch.log_softmax(p[6:9], 0)
    squares = ((DATA[:, None] - mean) / log_width.exp()) ** 2
    return -torch.logsumexp(weight - squares / 2 - log_width, 1).sum()


def kalman(p: Any) -> Any:
    mean, variance, likelihood = tensor(0.0)[0], tensor(1.0)[0], 0.0
    for y in DATA:
        variance = variance + p[0].exp()
        total = variance + p[1].exp()
        likelihood = likelihood - 0.5 * (torch.log(total) + (y - mean) ** 2 / total)
        gain = variance / total
        mean, variance = mean + gain * (y - mean), (1 - gain) * variance
    return likelihood


def gaussian_process(p: Any) -> Any:
    kernel = p[0].exp() * torch.exp(-0.5 * ((TIMES[:, None] - TIMES) / p[1].exp()) ** 2)
    factor = torch.linalg.cholesky(kernel + p[2].exp() * torch.eye(20, dtype=DOUBLE))
    solved = torch.cholesky_solve(DATA[:, None], factor)[:, 0]
    return (DATA * solved).sum() / 2 + torch.log(torch.diag(factor)).sum()


def cox(b: Any) -> Any:
    risk = FEATURES @ b
    return (torch.flip(torch.logcumsumexp(torch.flip(risk, [0]), 0), [0]) - risk).sum()


def sparsemax(x: Any) -> Any:
    ordered = torch.sort(x, descending=True)[0]
    excess = ordered.cumsum(0) - 1
    mean = excess / torch.arange(1, len(x) + 1, dtype=DOUBLE)
    return (x - mean[int((ordered > mean).sum()) - 1]).clamp(min=0)


def sinkhorn(cost: Any) -> Any:
    kernel, u, v = torch.exp(-cost / 0.1), torch.ones(5, dtype=DOUBLE), tensor(0.0)
    for _ in range(50):
        v = 0.2 / (kernel.T @ u)
        u = 0.2 / (kernel @ v)
    return (u[:, None] * kernel * v * cost).sum()


def equilibrium(x: Any) -> Any:
    z = torch.zeros_like(x)
    for _ in range(100):
        z = torch.tanh(COUPLING @ z + x)
    return z


def contrastive(x: Any) -> Any:
    z = functional.normalize(x, dim=-1)
    others = z @ z.T / 0.07 - 1e9 * torch.eye(len(x), dtype=DOUBLE)
    return functional.cross_entropy(others, torch.arange(len(x)).roll(1))


def attention(x: Any) -> Any:
    later = torch.triu(torch.ones(6, 6, dtype=torch.bool), 1)
    return (x @ x.T / 2).masked_fill(later, -math.inf).softmax(-1) @ x


def black_scholes(p: Any) -> Any:
    spot, strike, rate, volatility, time = p
    d = (torch.log(spot / strike) + (rate + volatility**2 / 2) * time) / volatility / time.sqrt()
    below = torch.special.ndtr
    later = d - volatility * time.sqrt()
    return spot * below(d) - strike * torch.exp(-rate * time) * below(later)


def american_put(p: Any) -> Any:
    n, up = 20, 1.05
    q = (1.001 - 1 / up) / (up - 1 / up)

    def payoff(k: int) -> Any:
        return p[1] - p[0] * tensor(*(up ** (k - 2 * i) for i in range(k + 1)))

    value = payoff(n).clamp(min=0)
    for k in range(n - 1, -1, -1):
        value = torch.maximum(payoff(k), (q * value[:-1] + (1 - q) * value[1:]) / 1.001)
    return value[0]


def rotation(w: Any) -> Any:
    angle = w.norm()
    zero = torch.zeros_like(w[0])
    k = torch.stack([zero, -w[2], w[1], w[2], zero, -w[0], -w[1], w[0], zero]).view(3, 3)
    turned = torch.sin(angle) / angle * k + (1 - torch.cos(angle)) / angle**2 * k @ k
    return torch.eye(3, dtype=DOUBLE) + turned


def planck(p: Any) -> Any:
    return p[0] ** 3 / torch.expm1(4.8e-11 * p[0] / p[1])


def gravity(p: Any) -> Any:
    return 6.674e-11 * p[0] * p[1] / (p[2] - p[3]) ** 2


def encoding(x: Any) -> Any:
    return torch.cat([torch.sin(2.0**k * math.pi * x) for k in range(14)])


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "Lorenz's equations": (lorenz, 5 + normal(3)),
    "Kepler's equation": (kepler, tensor(1.3, 0.4)),
    "Lennard-Jones, cut off": (lennard_jones, 1.5 * normal(8, 3)),
    "Burgers' equation": (burgers, uniform(16)),
    "Planck's law in SI units": (planck, tensor(5e14, 5800.0)),
    "another point of it": (planck, tensor(5e14, 580000.0)),
    "gravity in SI units": (gravity, tensor(1.99e30, 5.97e24, 1.5e11, 1e9)),
    "Arrhenius' law in SI units": (
        lambda p: p[0] * torch.exp(-p[1] / (8.314 * p[2])),
        tensor(1e13, 8e4, 300.0),
    ),
    "a mixture of normal distributions": (mixture, normal(9)),
    "a Kalman filter": (kalman, normal(2)),
    "a Gaussian process": (gaussian_process, tensor(0.2, -0.3, -2.0)),
    "Cox's model": (cox, normal(3)),
    "quantiles": (lambda x: torch.quantile(x, tensor(0.1, 0.33, 0.9)), normal(11)),
    "a correlation": (torch.corrcoef, normal(4, 12)),
    "singular values": (torch.linalg.svdvals, normal(5, 4)),
    "a condition": (torch.linalg.cond, normal(4, 4)),
    "a determinant": (lambda a: torch.linalg.slogdet(a)[1], normal(6, 6)),
    "an exponential of a matrix": (torch.matrix_exp, normal(4, 4)),
    "a pseudoinverse": (torch.linalg.pinv, normal(5, 3)),
    "a spectrum": (lambda x: torch.log(torch.fft.rfft(x).abs() ** 2 + 1e-10), normal(16)),
    "a median filter": (lambda x: x.unfold(0, 5, 1).median(-1)[0], normal(20)),
    "samples of an image": (
        lambda grid: functional.grid_sample(IMAGE, grid, align_corners=False),
        uniform(1, 4, 4, 2, low=-0.9, high=0.9),
    ),
    "distances to the nearest": (lambda x: torch.cdist(x, POINTS).min(0)[0].sum(), normal(8, 3)),
    "sparsemax": (sparsemax, normal(6) / 4),
    "Sinkhorn's iteration": (sinkhorn, uniform(5, 5)),
    "a deep equilibrium": (equilibrium, normal(4)),
    "a contrastive loss": (contrastive, normal(6, 4)),
    "causal attention": (attention, normal(6, 4)),
    "rows of zeros before relu": (
        lambda x: functional.max_pool2d(functional.relu(x), 2),
        normal(1, 1, 6, 6) - 0.5,
    ),
    "Black and Scholes": (black_scholes, tensor(100, 95, 0.03, 0.2, 0.5)),
    "an American option": (american_put, tensor(100.3, 103.0)),
    "a rotation": (rotation, normal(3)),
    "the Huber loss at its threshold": (
        lambda x: functional.huber_loss(x, torch.zeros_like(x), reduction="none"),
        tensor(1.0, -1.0, 0.5, 2.0),
    ),
    "elu at 0": (functional.elu, torch.zeros(4, dtype=DOUBLE)),
    "cumulative products with zeros": (
        lambda x: x.cumprod(0),
        tensor(1.0, 2.0, 0.0, 3.0, 0.0, 4.0),
    ),
    "a positional encoding": (encoding, uniform(3, low=-1.0, high=1.0)),
    "a fast sine": (lambda x: torch.sin(1e5 * x), normal(6)),
    "a chaotic orbit": (lambda x: 3.9 * x * (1 - x) * torch.sin(1e3 * x), uniform(4, high=1.0)),
    "solutions of Hilbert's equations": (
        lambda a: torch.linalg.solve(a, DATA[:4]),
        tensor(*([1 / (i + j + 1) for j in range(4)] for i in range(4))),
    ),
}

Change = Callable[[Any, int], Any]  # of a gradient, and of its largest element


def none(gradient: Any, _: int) -> Any:
    return gradient


def largest_one_percent_off(gradient: Any, largest: int) -> Any:
    gradient.flat[largest] *= 1.01
    return gradient


def largest_negated(gradient: Any, largest: int) -> Any:
    gradient.flat[largest] *= -1
    return gradient


def all_off_by_a_thousandth(gradient: Any, _: int) -> Any:
    return 1.001 * gradient


def verdict(name: str, change: Change) -> Verdict:
    f, point = FUNCTIONS[name]

    def value(x: Any) -> Any:
        return f(torch.from_numpy(np.array(x))).numpy()

    def right(x: Any, v: Any) -> Any:
        leaf = torch.from_numpy(np.array(x)).requires_grad_()
        y = f(leaf)
        weights = torch.from_numpy(np.array(v)).reshape(y.shape)
        return torch.autograd.grad(y, leaf, weights)[0].numpy()

    x = point.numpy()
    v = np.random.default_rng(0).standard_normal(value(x).shape)
    largest = int(np.argmax(np.abs(right(x, v))))
    report = check(value, x, vjp=lambda x, v: change(right(x, v), largest), raise_exception=False)
    return report.verdict


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_right_gradient_passes(name: str) -> None:
    f, point = FUNCTIONS[name]
    assert verdict(name, none) is Verdict.PASS
    assert check(f, point.clone().requires_grad_()).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "change", [largest_one_percent_off, largest_negated, all_off_by_a_thousandth]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_gradient_fails(name: str, change: Change) -> None:
    assert verdict(name, change) is Verdict.FAIL
