// bound.cuh -- the r^2 below which a test becomes the weakest evidence for its edge.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

// The r^2 at which root_df * atanh(|r|) equals `z`; root_df = sqrt(n - level - 3), or 0 without degrees of freedom.
DEVICE double bound_of(const double z, const double root_df) {
    const double t = tanh(z / root_df);
    return root_df > 0.0 ? t * t : 0.0;
}
