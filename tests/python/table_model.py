"""A table that is trained on a few of its rows."""

import numpy as np

import fluidcore as fluid
from fluidcore import core, layers, optimizer, unique_name

HEIGHT, WIDTH = 12, 3
BATCHES = [[3, 7, 3, 0], [7, 7, 5, 1], [3, 0, 1, 9]]
NEVER_READ = [2, 4, 6, 8, 10, 11]
TABLE = np.random.default_rng(1).standard_normal((HEIGHT, WIDTH)).astype(np.float32)
COTANGENTS = np.random.default_rng(2).standard_normal((4, WIDTH)).astype(np.float32)

OPTIMIZERS = {
    "sgd": lambda: optimizer.SGD(0.1),
    "momentum": lambda: optimizer.Momentum(0.1, 0.9),
    "nesterov": lambda: optimizer.Momentum(0.1, 0.9, use_nesterov=True),
    "adam": lambda: optimizer.Adam(0.1),
    "adamax": lambda: optimizer.Adamax(0.1),
    "adagrad": lambda: optimizer.Adagrad(0.1),
    "decayed_adagrad": lambda: optimizer.DecayedAdagrad(0.1),
    "adadelta": lambda: optimizer.Adadelta(0.1),
    "rmsprop": lambda: optimizer.RMSProp(0.1),
    "ftrl": lambda: optimizer.Ftrl(0.1, l1=0.01, l2=0.01),
}


class Model:
    """A table, of which each step reads the rows `ids`; the loss is linear in them.

    Attributes:
        loss: The weighted sum of the elements that were read.
    """

    def __init__(
        self,
        make_optimizer,
        sparse=True,
        lookups=1,
        error_clip=None,
        padding_idx=None,
        dtype="float32",
        **settings,
    ):
        unique_name.switch()
        self.main, self.startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(self.main, self.startup):
            ids = layers.data("ids", [-1], dtype="int64", append_batch_size=False)
            weights = layers.data("weights", [-1, WIDTH], dtype=dtype, append_batch_size=False)
            attr = fluid.ParamAttr("table", **settings)
            read = [
                layers.embedding(ids, [HEIGHT, WIDTH], sparse, False, padding_idx, attr, dtype)
                for _ in range(lookups)
            ]
            self.table = self.main.global_block().var("table")
            self.table.error_clip = error_clip
            self.loss = layers.reduce_sum(layers.sums(read) * weights)
            _, [(_, self.grad)] = make_optimizer().minimize(self.loss)
        self.scope, self.exe = core.Scope(), fluid.Executor()
        self.exe.run(self.startup, scope=self.scope)
        self.scope.find_var("table").get_tensor().set(TABLE.astype(dtype))
        self.dtype = dtype

    def step(self, ids, fetch=(), weights=COTANGENTS):
        feed = {"ids": np.array(ids, np.int64), "weights": weights.astype(self.dtype)}
        return self.exe.run(self.main, feed, fetch_list=list(fetch), scope=self.scope)

    def train(self):
        for ids in BATCHES:
            self.step(ids)
        return self.state()

    def state(self):
        """The table and what the optimizer keeps for it."""
        names = [name for name in self.scope.local_var_names() if name.startswith("table")]
        return {name: np.array(self.scope.find_var(name).get_tensor()) for name in names}


def dense_gradient(ids, weights=COTANGENTS):
    gradient = np.zeros((HEIGHT, WIDTH), np.float32)
    np.add.at(gradient, ids, weights)
    return gradient


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)
