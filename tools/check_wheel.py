"""Checks a wheel's size, unpacked, beside oneDNN and libgomp, which it carries.

What is compiled of the operators and the runtime must be below 9.6 MB, all that runs, Python
included, below 12 MB. The headers, for those who compile against it, are counted by themselves.
In a wheel that auditwheel has repaired both may be a third of a megabyte larger: names of symbols
are there once more for each change.

Usage: python tools/check_wheel.py fluidcore_dl-0.1.0-cp311-cp311-linux_x86_64.whl
"""

import sys
import zipfile

COMPILED_LIMIT = 9_600_000  # bytes
LIMIT = 12_000_000
REPAIRED = 350_000


def main(wheel: str) -> int:
    """Prints the sizes; returns 1 when our own part is too large."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
    ours = {n: size for n, size in sizes.items() if "dnnl" not in n and ".libs/" not in n}
    compiled = sum(size for name, size in ours.items() if ".so" in name)
    headers = sum(size for name, size in ours.items() if name.startswith("fluidcore/include/"))
    runs = sum(ours.values()) - headers
    repaired = REPAIRED if any(".libs/" in name for name in sizes) else 0
    compiled_limit, limit = COMPILED_LIMIT + repaired, LIMIT + repaired
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:5]:
        print(f"{size / 1e6:8.2f} MB  {name}")
    print(f"{compiled / 1e6:8.2f} MB  compiled, limit {compiled_limit / 1e6:.2f}")
    print(f"{runs / 1e6:8.2f} MB  all that runs, limit {limit / 1e6:.2f}")
    print(f"{headers / 1e6:8.2f} MB  headers")
    return 1 if compiled > compiled_limit or runs > limit else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
