"""The text of `Stability.summary`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycupc.stability.consensus import least_count

if TYPE_CHECKING:
    from pycupc.stability.result import Stability


def summary(result: Stability) -> str:
    """Size of the study and numbers of edges by frequency."""
    resampling, n_resamples = result.resampling, result.n_resamples
    lines = [
        f"PC-stable on resamples: {result.p:,} variables, {resampling.n:,} observations",
        f"{n_resamples:,} resamples of {resampling.size:,} rows, scheme {resampling.scheme!r}, random_state "
        f"{result.random_state}",
        "",
        f"{'alpha':>8} {'edges per graph':>16} {'ever adjacent':>14} {'in >= 50 %':>11} {'in >= 90 %':>11} "
        f"{'tests per graph':>16}",
    ]
    for k, (alpha, counts) in enumerate(zip(result.alphas, result.counts, strict=True)):
        half, most = (int((counts.adjacent >= least_count(share, n_resamples)).sum()) for share in (0.5, 0.9))
        lines.append(
            f"{alpha:>8g} {result.mean_edges(alpha):>16,.1f} {len(counts.low):>14,} {half:>11,} {most:>11,} "
            f"{result.n_tests[:, k].mean():>16,.0f}"
        )
    for numbers, what in ((result.n_constant, "constant"), (result.n_copies, "identical to others")):
        if numbers.any():
            several = int((numbers > 0).sum())
            lines.append(f"in {several:,} resamples some variables were {what}, at most {numbers.max():,} at once")
    lines += [f"{key}: {text}" for key, text in result.notes.items()]
    return "\n".join(lines)
