// conditioning.cuh -- covariances given the prefix of a conditioning set.
//   Row x has its d neighbours at the positions 0..d-1, ascending; position d stands for x itself. The prefix
//   P = (P_0, .., P_{q-1}) consists of positions. W [d + 1, w_pitch(q)] is the factor
//   W_aj = cov(P_j, a | P_0..P_{j-1}) / sd(P_j | P_0..P_{j-1}), so that cov(a, b | P) = C_ab - W_a . W_b.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

// A row and its present prefix.
struct Row {
    const double* C;     // correlations, row-major: matrix_of
    i64 p, e0;           // numbers in a row of them; first pair of the row
    const int* ids;      // [d + 1] places of the positions in C, x last
    const int* prefix;   // [q] positions, ascending
    double* W;           // [d + 1, pitch]; condition writes it
    int x, d, q, pitch;  // the row, its degree; size of the prefix; w_pitch(q)

    // Correlation of two positions.
    DEVICE double correlation(const int a, const int b) const { return C[(i64)ids[a] * p + ids[b]]; }
    // First position after the prefix.
    DEVICE int after() const { return q ? prefix[q - 1] + 1 : 0; }
    // Whether position a is no member of the prefix.
    DEVICE bool outside(const int a) const {
        bool out = true;
        for (int j = 0; j < q; ++j) out = out && a != prefix[j];
        return out;
    }
};

// v - sum over j < n of a[j] b[j]; both 16-byte aligned.
DEVICE double less_dot(double v, const double* a, const double* b, const int n) {
    int j = 0;
#pragma unroll 4
    for (; j + 2 <= n; j += 2) {
        const double2 s = *(const double2*)(a + j), t = *(const double2*)(b + j);
        v = fma(-s.x, t.x, v);
        v = fma(-s.y, t.y, v);
    }
    return j < n ? fma(-a[j], b[j], v) : v;
}

// Computes the columns from .. q - 1 of W; those before `from` are there. flag [q], in shared memory, receives whether
// the pivot of each column is above the floor. Returns whether all are. Whole block.
DEVICE bool condition(const Row& r, const int from, bool* flag) {
    for (int j = from; j < r.q; ++j) {
        const double* c = r.C + (i64)r.ids[r.prefix[j]] * r.p;
        const double* pivot_row = r.W + r.prefix[j] * r.pitch;
        const double pivot = less_dot(c[r.ids[r.prefix[j]]], pivot_row, pivot_row, j);
        const double scale = rsqrt(pivot);
        for (int a = threadIdx.x; a <= r.d; a += blockDim.x) {
            const double v = less_dot(c[r.ids[a]], pivot_row, r.W + a * r.pitch, j);
            r.W[a * r.pitch + j] = v * scale;
        }
        if (threadIdx.x == 0) flag[j] = pivot > PIVOT_FLOOR;
        __syncthreads();
    }
    bool sound = true;
    for (int j = 0; j < r.q; ++j) sound = sound && flag[j];
    return sound;
}

// cov(a, b | P) of two positions, whose correlation is c.
DEVICE double given(const Row& r, const int a, const int b, const double c) {
    return less_dot(c, r.W + a * r.pitch, r.W + b * r.pitch, r.q);
}
DEVICE double given(const Row& r, const int a, const int b) { return given(r, a, b, r.correlation(a, b)); }

// `is_target` of the pair of row x with the neighbour at position a, on its side.
DEVICE bool is_target(const Graph& g, const Row& r, const int a, const u64 rank) {
    const int y = neighbour(g, r.e0 + a, r.ids[a]);
    return is_target(g, r.e0 + a, r.x, y, r.x > y, rank);
}
