"""The measured power of checkers as text."""

from __future__ import annotations

from collections.abc import Mapping

from tests.power.measure import Power, Share


def power_table(powers: Mapping[str, Power]) -> str:
    """A Markdown table with a row for each checker."""
    severities = sorted({s for p in powers.values() for s in p.by_severity}, reverse=True)
    header = ["checker", "right ones accused", "inconclusive", "bugs found"]
    places = any(power.located.total for power in powers.values())
    header += ["operators named"] * places
    header += [f"{severity:.3g}" for severity in severities]
    rows = [header, ["---"] * len(header)]
    for name, power in powers.items():
        row = [name, _count(power.accused), _count(power.undecided), _rate(power.useful)]
        row += [_rate(power.located)] * places
        row += [_percent(power.by_severity.get(severity, Share())) for severity in severities]
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _count(share: Share) -> str:
    return f"{share.found:,} of {share.total:,}"


def _percent(share: Share) -> str:
    return f"{100 * share.rate:.1f} %" if share.total else "-"


def _rate(share: Share) -> str:
    low, high = share.interval()
    return f"{_percent(share)} of {share.total:,} ({100 * low:.1f} to {100 * high:.1f})"
