// node.cuh -- a node of the search for a separating set of one ordered pair (x, y): its conditioning sets, and the
//   covariances given the members that all of them have. kernels/README.md explains the search.
//   Positions count the d neighbours of x, ascending; position d stands for x itself. All lanes of a warp take
//   part in each call, except that single lanes may call the functions of Mask.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "pruning/lanes.cuh"

constexpr int WORDS = 12;  // words of a Mask
constexpr int MOST_NEIGHBOURS = 32 * WORDS;

// A set of positions, in shared or global memory. Several lanes of a warp may change it at once.
struct Mask {
    unsigned word[WORDS];  // bit k & 31 of word k >> 5: position k
    DEVICE bool has(const int k) const { return word[k >> 5] >> (k & 31) & 1; }
    DEVICE void add(const int k) { atomicOr(&word[k >> 5], 1u << (k & 31)); }
    DEVICE void drop(const int k) { atomicAnd(&word[k >> 5], ~(1u << (k & 31))); }
};

// The conditioning sets that consist of all of `taken` and of `choose` candidates from `kept`.
struct Node {
    Mask kept, taken;
    int target, choose;  // target: position of y
};

// Correlations, with the two words of each number apart: sums that only need to be near read half as much.
struct Words {
    const unsigned *high, *low;
    DEVICE double at(const int i) const { return __hiloint2double((int)high[i], (int)low[i]); }
    DEVICE double near(const int i) const {
        return __hiloint2double((int)high[i], (int)0x80000000u);
    }  // off by at most 2^-21 |at(i)|
};

// The data common to all nodes of a row.
struct Row {
    Words R;              // [d + 1, d + 1] correlations of the neighbours and x
    const double* delta;  // [d] R without x, less diag(delta), is positive semidefinite
    int d;                // degree of the row
    double cutoff;        // a test with |r| above this is surely dependent
    double margin;        // by which a bound must clear the cutoff, for variances of 1
};

// The question about the sets of a node.
struct Threshold {
    double cutoff;  // a set is open unless |r| given it is surely above this
    u64* smallest;  // null, or bits of the smallest r^2 known, in shared memory: then all sets below it are tested, and
                    // none counts as open
};

// The members taken whose rows of W a warp holds, in the order of the rows.
struct Factor {
    int count;
    unsigned short order[MOST_TAKEN];  // positions
};

// Work space of a warp.
struct Space {
    double* p;             // [d] a vector over the candidates, in the order of `list`
    unsigned short* list;  // [d] positions of the candidates
    Factor* factor;        // in shared memory
    double* W;             // [factor, d + 1] by position: cov(i, j | factor) = R_ij - sum over s of W_si W_sj
    double *x, *y, *v;     // [d] covariances of the candidates with x and y, their variances, given the members taken
};

// Writes the positions in `set` to `list`, ascending; returns their number.
DEVICE int list_members(const Mask& set, const int d, unsigned short* list) {
    int n = 0;
    for (int b = 0; b < d; b += LANES) {
        const int k = b + lane_id();
        const bool in = k < d && set.has(k);
        const int at = n + lanes_before_with(in);
        if (in) list[at] = (unsigned short)k;
        n += lanes_with(in);
    }
    __syncwarp();
    return n;
}

// Adds a row to W, for position k. False if the variance of k given the members before is too small, or if there is no room.
DEVICE bool add_row(const Row& row, const Space& w, const int k) {
    const int s = w.factor->count, pitch = row.d + 1;
    if (s == MOST_TAKEN) return false;
    double pivot = row.R.at(k * pitch + k);
    UNROLL4
    for (int i = 0; i < s; ++i) pivot = fma(-w.W[i * pitch + k], w.W[i * pitch + k], pivot);
    if (!(pivot > PIVOT_FLOOR)) return false;
    const double scale = 1.0 / sqrt(pivot);
    for (int c = lane_id(); c < pitch; c += LANES) {
        double v = row.R.at(k * pitch + c);
        UNROLL4
        for (int i = 0; i < s; ++i) v = fma(-w.W[i * pitch + k], w.W[i * pitch + c], v);
        w.W[s * pitch + c] = v * scale;
    }
    __syncwarp();
    if (lane_id() == 0) {
        w.factor->order[s] = (unsigned short)k;
        w.factor->count = s + 1;
    }
    __syncwarp();
    return true;
}

// Makes W add_row the members of `taken`. Rows of the node before stay up to the first that is not in `taken`. False if a
// call of `add_row` fails.
DEVICE bool factorise(const Row& row, const Space& w, const Mask& taken) {
    const int before = w.factor->count;
    int keep = 0;
    while (keep < before && taken.has(w.factor->order[keep])) ++keep;
    __syncwarp();
    if (lane_id() == 0) w.factor->count = keep;
    __syncwarp();
    for (int i = 0; i < WORDS; ++i) {
        unsigned missing = taken.word[i];
        for (int s = 0; s < keep; ++s)
            if (w.factor->order[s] >> 5 == i) missing &= ~(1u << (w.factor->order[s] & 31));
        for (; missing; missing &= missing - 1)
            if (!add_row(row, w, 32 * i + lowest_bit(missing))) return false;
    }
    return true;
}

// cov(i, j | factor) of two positions.
DEVICE double given(const Row& row, const Space& w, const int i, const int j) {
    const int pitch = row.d + 1, n = w.factor->count;
    double v = row.R.at(i * pitch + j);
    UNROLL4
    for (int s = 0; s < n; ++s) v = fma(-w.W[s * pitch + i], w.W[s * pitch + j], v);
    return v;
}
