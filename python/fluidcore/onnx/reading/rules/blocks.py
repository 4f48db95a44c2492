"""Channels and pixels in one another's place."""

from __future__ import annotations

from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import Result, Rules, reshaped, transposed


def depth_to_space(node: Node) -> Result:
    """Channels become pixels."""
    x = node.var(0)
    batch, channels, height, width = _image(node)
    block = node.attr("blocksize")
    rest = channels // (block * block)
    node_mode = node.attr("mode", "DCR")
    if node_mode == "CRD":
        split_up, perm = [batch, rest, block, block, height, width], [0, 1, 4, 2, 5, 3]
    elif node_mode == "DCR":
        split_up, perm = [batch, block, block, rest, height, width], [0, 3, 4, 1, 5, 2]
    else:
        raise node.refuse("attribute mode must be 'DCR' or 'CRD'", repr(node_mode))
    pixels = transposed(reshaped(x, split_up), perm)
    return reshaped(pixels, [batch, rest, height * block, width * block])


def space_to_depth(node: Node) -> Result:
    """Pixels become channels."""
    x = node.var(0)
    is_crd = node.attr("mode", "DCR") == "CRD"
    batch, channels, height, width = _image(node)
    block = node.attr("blocksize")
    cut = [batch, channels, height // block, block, width // block, block]
    moved = transposed(reshaped(x, cut), [0, 1, 3, 5, 2, 4] if is_crd else [0, 3, 5, 1, 2, 4])
    return reshaped(moved, [batch, channels * block * block, height // block, width // block])


def _image(node: Node) -> list[int]:
    """[N, C, H, W]; only the first may be open."""
    extents = list(node.shape(0))
    if len(extents) != 4 or -1 in extents[1:]:
        raise node.refuse("the input must be [N, C, H, W] with known C, H and W", extents)
    return extents


RULES: Rules = {
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
}
