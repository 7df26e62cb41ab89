// bound.cuh -- the r^2 below which a test becomes the weakest evidence for its edge.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

// The r^2 at which root_df * atanh(|r|) equals `z`; root_df = sqrt(n - level - 3), or 0 without degrees of freedom.
// Infinity where that exceeds R_MAX^2: every r is clipped at R_MAX, so any test is weaker evidence, whatever its r^2.
DEVICE double least_of(const double z, const double root_df) {
    const double t = tanh(z / root_df);
    if (!(root_df > 0.0)) return 0.0;
    return t > R_MAX ? __longlong_as_double(0x7ff0000000000000LL) : t * t;
}
