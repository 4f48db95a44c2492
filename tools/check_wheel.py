"""Checks a wheel's size, unpacked, beside oneDNN and libgomp, which it carries.

What is compiled of the operators and the runtime must be below 10 MB, all that runs, Python
included, below 12.5 MB. The headers, for those who compile against it, are counted by themselves.
A wheel that auditwheel has repaired is a third of a megabyte larger than it was.

Usage: python tools/check_wheel.py fluidcore_dl-0.1.0-cp311-cp311-linux_x86_64.whl
"""

import sys
import zipfile

COMPILED_LIMIT = 10_000_000  # bytes
LIMIT = 12_500_000


def main(wheel: str) -> int:
    """Prints the sizes; returns 1 when our own part is too large."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
    ours = {n: size for n, size in sizes.items() if "dnnl" not in n and ".libs/" not in n}
    compiled = sum(size for name, size in ours.items() if ".so" in name)
    headers = sum(size for name, size in ours.items() if name.startswith("fluidcore/include/"))
    runs = sum(ours.values()) - headers
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:5]:
        print(f"{size / 1e6:8.2f} MB  {name}")
    print(f"{compiled / 1e6:8.2f} MB  compiled, limit {COMPILED_LIMIT / 1e6:.1f}")
    print(f"{runs / 1e6:8.2f} MB  all that runs, limit {LIMIT / 1e6:.1f}")
    print(f"{headers / 1e6:8.2f} MB  headers")
    return 1 if compiled > COMPILED_LIMIT or runs > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
