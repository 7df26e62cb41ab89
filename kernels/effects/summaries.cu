// summaries.cu -- a number for each pair of variables from all possible effects of the one on the other.
//   Work    a thread per pair, effects of one cause next to each other
//   Launch  any grid and block
//   C        [p, p] covariances
//   first    [n_causes + 1] the first regression of each cause
//   start    [] the first entry of each regression, and the end of the last one
//   members  [] the parents of the cause, then the cause
//   weights  [] of the rows of C, see weights_of in pycupc/effects/regression.py
//   effects  [n_effects] variables that causes act on
//   out      [n_causes, n_effects] NaN for a cause without regressions; VALUE: the effect of smallest size with its
//            sign, NaN also where one is NaN, or a variable is its own cause; summarize_effects
//   how      as in pycupc/effects/on_gpu.py
#include "common/subsets.cuh"

constexpr int SMALLEST = 0, MEAN = 1, VALUE = 3;  // 2: sign agreement

extern "C" __global__ void summarize_effects(const double* __restrict__ C, const i64* __restrict__ first,
                                             const i64* __restrict__ start, const i64* __restrict__ members,
                                             const double* __restrict__ weights, const i64* __restrict__ effects,
                                             double* out, const i64 n_causes, const i64 n_effects, const i64 p,
                                             const int how) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    for (i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x; k < n_causes * n_effects; k += threads) {
        const i64 x = k / n_effects, y = effects[k % n_effects];
        double least = -1.0, of_least = 0.0, sum = 0.0;  // none yet
        bool itself = false;
        for (i64 r = first[x]; r < first[x + 1]; ++r) {
            const i64 last = start[r + 1] - 1;
            double value = 0.0;
            bool parent = false;
            for (i64 i = start[r]; i <= last; ++i) {
                parent |= i < last && members[i] == y;
                value += weights[i] * C[members[i] * p + y];
            }
            if (parent) value = 0.0;
            itself |= members[last] == y;
            const double size = fabs(value);
            if (!(least >= 0.0 && least <= size)) least = size, of_least = value;
            sum += how == MEAN ? value : value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : value;  // NaN stays NaN
        }
        sum /= (double)(first[x + 1] - first[x]);  // NaN without regressions
        if (how == VALUE) out[k] = sum == sum && !itself ? of_least : nan("");
        else out[k] = how == MEAN ? sum : how != SMALLEST ? fabs(sum) : sum == sum ? least : sum;
    }
}
