// record.cuh -- the records of a level's separating sets, for the kernels of all families of tests.
#pragma once
#include "common/warp.cuh"

// The arrays of m records, one after the other in Records::found. The host downloads them as one piece.
struct Found {
    double* r;  // [m] canonical partial correlation given S; finish. Discrete data: G^2, then the p-value;
                // contingency_records, p_values
    int* x;     // [m] x of the pair (x, y) whose test separated the edge; settle
    int* y;     // [m] y of that pair; settle
    int* S;     // [m, level] separating set, ascending variables; finish, contingency_records
    DEVICE Found(void* found, i64 m) : r((double*)found), x((int*)(r + m)), y(x + m), S(y + m) {}
};

// From the rank of record i to its separating set: writes the variables to `members` [level] and to found.S. One warp.
// Returns, in all lanes, the pair's tests up to and including the separating one; pcalg counts them among the subsets
// of adj(x) without y.
DEVICE u64 find_members(const Graph& g, const Level& lv, const Found& found, const i64 i, const u64 rank,
                        int* members) {
    const int x = found.x[i], y = found.y[i], d = (int)(g.start[x + 1] - g.start[x]), l = lv.level;
    unrank_by_warp(lv.binom, d, l, rank, members);
    u64 after = 0;  // subsets of adj(x) without y that come after S
    for (int k = threadIdx.x & 31; k < l; k += 32) {
        const int at = members[k], v = g.column[g.start[x] + at];
        after += lv.binom(d - 2 - (at - (v > y)), l - k);
        members[k] = v;
        found.S[i * l + k] = v;
    }
    __syncwarp();
    return lv.binom(d - 1, l) - sum_over_warp(after);
}
