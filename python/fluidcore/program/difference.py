"""What two programs, as their texts, differ in."""

from __future__ import annotations

from typing import Any

_MOST = 5  # differences that are named


def differences(mine: str, other: str) -> list[str]:
    """What `other` has differently, in words, the first few; none for equal programs."""
    import json

    if mine == other:
        return []
    own, saved = json.loads(mine), json.loads(other)
    found: list[str] = []
    if own["random_seed"] != saved["random_seed"]:
        found.append(f"random_seed {saved['random_seed']} in place of {own['random_seed']}")
    if len(own["blocks"]) != len(saved["blocks"]):
        found.append(f"{len(saved['blocks'])} blocks in place of {len(own['blocks'])}")
    for index, (block, other_block) in enumerate(zip(own["blocks"], saved["blocks"], strict=False)):
        place = f" in block {index}" if len(own["blocks"]) > 1 else ""
        found += [text + place for text in _variables(block["vars"], other_block["vars"])]
        found += [text + place for text in _operators(block["ops"], other_block["ops"])]
    found = found or ["what is neither a variable nor an operator"]
    more = len(found) - _MOST
    return [*found[:_MOST], *([f"{more} more"] if more > 0 else [])]


def _variables(mine: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[str]:
    own = {each["name"]: each for each in mine}
    saved = {each["name"]: each for each in other}
    found = []
    for name in [*own, *(name for name in saved if name not in own)]:
        if name not in saved:
            found.append(f"no variable '{name}'")
        elif name not in own:
            found.append(f"a variable '{name}' more")
        elif own[name] != saved[name]:
            found.append(f"variable '{name}' with {_changes(own[name], saved[name])}")
    return found


def _operators(mine: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[str]:
    found = []
    for index, (own, saved) in enumerate(zip(mine, other, strict=False)):
        if own["type"] != saved["type"]:
            return [f"operator {index} is {saved['type']} in place of {own['type']}"]
        changed = [part for part in own if own[part] != saved.get(part)]
        if changed:
            texts = [_changes(own[part], saved.get(part, {})) for part in changed]
            found.append(f"operator {index}, {own['type']}, with {', '.join(texts)}")
    if len(mine) != len(other):
        found.append(f"{len(other)} operators in place of {len(mine)}")
    return found


def _changes(own: dict[str, Any], saved: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {saved.get(key)} in place of {own.get(key)}"
        for key in dict.fromkeys([*own, *saved])
        if own.get(key) != saved.get(key)
    )
