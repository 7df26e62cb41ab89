"""The numbers of the Gaussian test from which all engines take their rules (docs/contracts/contract.md, section 2)."""

from __future__ import annotations

#: pcalg clips a partial correlation to +-R_MAX before Fisher's z.
R_MAX = 0.9999999

#: A fast (Schur complement) test may decide alone only while every pivot it met, i.e. the conditional variance of each
#: variable given the earlier ones and 1 - r^2, is above this. Rounding in r is then below about 1e-6, well inside
#: CUTOFF_BAND; any other test goes to `partial_correlation.partial_correlation`.
PIVOT_FLOOR = 1e-9

#: Relative distance of r^2 from the squared cutoff inside which the canonical formula decides, so that engines whose
#: rounding differs cannot disagree.
CUTOFF_BAND = 1e-5

#: Where a pivot is not above this the canonical formula computes in double-double (`double_double`): float64 would lose
#: half of its digits. It is above the floor of the fast tests, so that no engine decides a worse-conditioned test in
#: float64.
EXACT_PIVOT = 1e-7

#: Singular values up to dim * max(sv) * EPS are dropped by the pseudoinverse (R's .Machine$double.eps).
EPS = 2.220446049250313e-16
