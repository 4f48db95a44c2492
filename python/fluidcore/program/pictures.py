"""Programs as pictures and tables: what a Program can show of itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fluidcore import core
from fluidcore.base.checks import is_whole

if TYPE_CHECKING:
    from fluidcore.picture.graph import Graph
    from fluidcore.picture.memory import Memory
    from fluidcore.picture.summary import Summary

Path = str | os.PathLike[str]


class Pictures:
    """The methods of a Program that draw it; none of them changes it."""

    desc: core.ProgramDesc

    def to_dot(self, path: Path | None = None) -> str:
        """The program as a graph in the DOT language, which Graphviz and other tools draw.

        Nodes are operators, with attributes that are not defaults and sizes of parameters; edges
        are variables, with element type and shape. Forward, backward and optimizer are clusters,
        and so is each block, in the operator that runs it.

        Args:
            path: A file that gets the text, too; None for none.

        Raises:
            OSError: The file cannot be written.
        """
        from fluidcore.picture.dot import dot_text

        return _written(path, dot_text(self._graph()))

    def to_svg(self, path: Path | None = None, max_boxes: int | None = 200) -> str:
        """The program as a picture: forward downwards, backward beside it upwards, then updates.

        Args:
            path: A file that gets the picture, too; None for none.
            max_boxes: How many boxes a part may have. Of more operators those of the same name
                scope are drawn as one, then what is repeated. None draws every operator.

        Raises:
            core.InvalidArgument: `max_boxes` is no number of at least 1.
            OSError: The file cannot be written.
        """
        from fluidcore.picture.arrange import arranged
        from fluidcore.picture.svg import svg_text

        graph = self._graph()
        picture = arranged(graph, None, _checked("to_svg", max_boxes))
        return _written(path, svg_text(picture, f"program of {len(graph.ops)} operators"))

    def to_html(self, path: Path | None = None, max_boxes: int | None = 60) -> str:
        """The picture as a page: to zoom and search, with details of operators and boxes that open.

        The page is one file and loads nothing.

        Args:
            path: A file that gets the page, too; None for none.
            max_boxes: As in `to_svg`; what a box stands for is shown by a click on it.

        Raises:
            core.InvalidArgument: `max_boxes` is no number of at least 1.
            OSError: The file cannot be written.
        """
        from fluidcore.picture.html import html_text

        return _written(path, html_text(self._graph(), _checked("to_html", max_boxes)))

    def summary(self, batch: int = 1) -> Summary:
        """Output shapes, parameters, memory and arithmetic of each operator; print it for a table.

        Args:
            batch: Stands for extents that the program leaves open.

        Raises:
            core.InvalidArgument: `batch` is no number of at least 1.
        """
        from fluidcore.picture.summary import summary

        return summary(self.desc, _whole("summary: batch", batch))

    def memory(self, batch: int = 1) -> Memory:
        """What values are kept while each operator runs; print it for a picture.

        As if operators ran one by one in their order, each result in memory of its own from when it
        is written until it is read last. A run takes less where its plan puts operators together,
        or a result in the place of what it is made of; `Executor.plan` says how much.

        Args:
            batch: Stands for extents that the program leaves open.

        Raises:
            core.InvalidArgument: `batch` is no number of at least 1.
        """
        from fluidcore.picture.memory import memory

        return memory(self.desc, _whole("memory: batch", batch))

    def _repr_html_(self) -> str:
        """What a notebook shows: the page of `to_html`, in a frame of its own."""
        from fluidcore.picture.html import frame

        return frame(self.to_html())

    def _graph(self) -> Graph:
        from fluidcore.picture.graph import read_graph

        return read_graph(self.desc)


def _checked(method: str, max_boxes: int | None) -> int | None:
    return None if max_boxes is None else _whole(f"{method}: max_boxes", max_boxes)


def _whole(what: str, value: int) -> int:
    if not is_whole(value) or not 1 <= value < 2**31:
        raise core.InvalidArgument(f"{what} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _written(path: Path | None, text: str) -> str:
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text
