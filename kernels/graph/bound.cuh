// bound.cuh -- the r^2 that a test must fall below to be the weakest evidence for its edge so far.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

// r^2 of a test with root_df = sqrt(n - level - 3) whose |z| = root_df * atanh(|r|) is `z`; 0 without degrees of freedom.
DEVICE double bound_of(const double z, const double root_df) {
    const double t = tanh(z / root_df);
    return root_df > 0.0 ? t * t : 0.0;
}
