// record.cuh -- what the kernels of all families of tests do with a record of a separating set.
#pragma once
#include "common/warp.cuh"

// From positions among the neighbours of x, in s, to variables, in s and records.S, by one warp. Returns the tests of the
// pair up to and including the separating one, which are counted among the subsets of adj(x) without y, as pcalg does.
DEVICE u64 finish_record(const Graph& g, const Level& lv, const Records& records, const i64 i, int* s) {
    const int x = records.x[i], y = records.y[i], d = (int)(g.start[x + 1] - g.start[x]), l = lv.level;
    u64 after = 0;  // subsets of adj(x) without y that come after S
    for (int k = threadIdx.x & 31; k < l; k += 32) {
        const int at = s[k], v = g.column[g.start[x] + at];
        after += lv.binom(d - 2 - (at - (v > y)), l - k);
        s[k] = v;
        records.S[i * l + k] = v;
    }
    __syncwarp();
    return lv.binom(d - 1, l) - sum_over_warp(after);
}
