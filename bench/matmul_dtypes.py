"""How long a product of two matrices takes in each floating dtype.

python bench/matmul_dtypes.py [SIZE]; OMP_NUM_THREADS says how many threads.
"""

import sys
import time

import numpy as np

import fluidcore as fluid
from fluidcore import layers
from fluidcore.base.dtypes import numpy_dtype


def seconds(dtype: str, size: int) -> float:
    """The fastest of some products, by one program."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        x, y = (layers.data(n, [size, size], append_batch_size=False, dtype=dtype) for n in "xy")
        out = layers.reduce_sum(layers.matmul(x, y))
    rng = np.random.default_rng(0)
    feed = {n: rng.standard_normal((size, size)).astype(numpy_dtype(dtype)) for n in "xy"}
    executor = fluid.Executor()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        executor.run(main, feed=feed, fetch_list=[out])
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Prints a line for each dtype."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    for dtype in ("float64", "float32", "bfloat16", "float16"):
        took = seconds(dtype, size)
        print(f"{dtype:9} {1e3 * took:8.2f} ms  {2 * size**3 / took / 1e9:7.1f} GFLOP/s")


if __name__ == "__main__":
    main()
