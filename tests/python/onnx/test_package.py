import sys

import onnx
import pytest

from fluidcore.onnx.package import onnx_package


def test_the_package_is_the_one_that_is_installed():
    assert onnx_package() is onnx


def test_an_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError) as error:
        onnx_package()
    assert str(error.value) == (
        "fluidcore.onnx: the package onnx must be installed, got none; run "
        "pip install 'fluidcore-dl[onnx]'"
    )
