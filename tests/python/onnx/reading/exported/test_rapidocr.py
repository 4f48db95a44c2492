"""RapidOCR reads an image of text with its three models in fluidcore as it does in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fluidcore as fluid
from fluidcore import onnx as fluid_onnx

rapidocr = pytest.importorskip("rapidocr_onnxruntime")
from PIL import Image, ImageDraw, ImageFont  # noqa: E402

Array = npt.NDArray[Any]
LINES = ["Every gradient", "is proven 2026"]
UPSIDE_DOWN = "upside down"


def drawn() -> Array:
    """Lines of text, of which the classifier has to turn the last one round."""
    font = ImageFont.load_default(size=44)
    image = Image.new("RGB", (420, 300), "white")
    for i, line in enumerate(LINES):
        ImageDraw.Draw(image).text((24, 20 + 90 * i), line, "navy", font)
    turned = Image.new("RGB", (400, 80), "white")
    ImageDraw.Draw(turned).text((10, 10), UPSIDE_DOWN, "black", font)
    image.paste(turned.rotate(180), (10, 205))
    return np.array(image)[..., ::-1].copy()  # blue first


class Session:
    """What RapidOCR asks of a session; keeps what each run was given and gave.

    ONNX Runtime calculates as the file says: it fuses nothing, as that rounds weights anew, which
    takes the detector farther from the exact numbers than the bound of this test.
    """

    def __init__(self, path: str) -> None:
        runtime = pytest.importorskip("onnxruntime")
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.of_onnxruntime = runtime.InferenceSession(path, options)
        self.calls: list[tuple[Array, Array]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of_onnxruntime, name)

    def run(self, outputs: Sequence[str], feed: Mapping[str, Array]) -> list[Array]:
        (given,) = feed.values()
        results = self.calculated(outputs, feed)
        self.calls.append((given, results[0]))
        return results

    def calculated(self, outputs: Sequence[str], feed: Mapping[str, Array]) -> list[Array]:
        found: list[Array] = self.of_onnxruntime.run(outputs, feed)
        return found


class ProgramSession(Session):
    """The same with the model as a program, which is loaded once, for images of any extents."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.model = fluid_onnx.load(path, scope=fluid.Scope())
        self.executor = fluid.Executor()

    def calculated(self, outputs: Sequence[str], feed: Mapping[str, Array]) -> list[Array]:
        assert self.model.outputs == list(outputs)
        found = self.executor.run(
            self.model.program, dict(feed), self.model.fetches, self.model.scope
        )
        return list(found)


def words(reader: Any) -> list[str]:
    lines, _ = reader(drawn())
    return [text for _, text, _ in lines]


def words_by(kind: type[Session]) -> tuple[list[str], dict[str, Session]]:
    """What RapidOCR reads with sessions of a kind, and these."""
    reader = rapidocr.RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)
    folder = Path(rapidocr.__file__).parent / "models"
    holders = {"det": reader.text_det.infer, "cls": reader.text_cls.infer}
    holders["rec"] = reader.text_rec.session
    for name, holder in holders.items():
        (path,) = folder.glob(f"*_{name}_*.onnx")
        holder.session = kind(str(path))
    return words(reader), {name: holder.session for name, holder in holders.items()}


def test_the_words_on_an_image_and_the_outputs_of_each_model_are_those_of_onnxruntime() -> None:
    as_shipped = words(rapidocr.RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1))
    assert as_shipped == [*LINES, UPSIDE_DOWN]
    theirs, their_sessions = words_by(Session)
    ours, our_sessions = words_by(ProgramSession)
    assert ours == theirs == as_shipped
    for name, session in their_sessions.items():
        assert session.calls
        for their_call, our_call in zip(session.calls, our_sessions[name].calls, strict=True):
            np.testing.assert_array_equal(our_call[0], their_call[0])  # the same images
            np.testing.assert_allclose(our_call[1], their_call[1], rtol=0, atol=1e-4)
