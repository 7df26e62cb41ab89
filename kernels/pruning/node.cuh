// node.cuh -- a node of the search for a separating set of one ordered pair (x, y): its conditioning sets, and the
//   covariances given the members that all of them have.
//   Positions are those of the neighbours of x, ascending; position d stands for x itself.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "pruning/team.cuh"

constexpr double LEAST = 1e-5;  // smallest delta, and smallest var(x | neighbours), of a row with bounds
constexpr int WORDS = 8;        // of a mask
constexpr int MOST_NEIGHBOURS = 32 * WORDS;

// A set of positions. Lies in shared memory; a team changes it together.
struct Mask {
    unsigned word[WORDS];
    TEAM bool has(const int k) const { return word[k >> 5] >> (k & 31) & 1; }
    TEAM void add(const int k) { team_or(word[k >> 5], 1u << (k & 31)); }
    TEAM void drop(const int k) { team_and(word[k >> 5], ~(1u << (k & 31))); }
};

// The conditioning sets that hold all of `taken` and `choose` of `kept`.
struct Node {
    Mask kept, taken;
    int target, choose;  // position of y
};

// What holds for all nodes of a row.
struct RowBound {
    const double* R;      // [d + 1, d + 1] covariances of the neighbours and x
    const double* delta;  // [d] R without x, less diag(delta), is positive semidefinite
    int d;
    double cutoff;  // |r| above it is surely dependent
    double margin;  // that a bound must keep, for variances of 1
};

// Work space of a team. A node lists its candidates first, then x, y and the members taken.
struct Bench {
    double* p;             // [d] a vector over the candidates
    unsigned short* list;  // [d + 1] positions
    double* W;             // [members taken, d + 1] factor: cov(i, j | taken) = R_ij - sum over s of W_si W_sj
    double *x, *y, *v;  // [d + 1] covariances of the candidates with x and y, their variances, given the members taken
    int pitch;          // d + 1
};

// Lists the positions of `set` from entry `to` on; returns the entry after the last.
TEAM int list_members(const Mask& set, const int d, unsigned short* list, int to) {
    for (int b = 0; b < d; b += LANES) {
        const int k = b + team_lane();
        const bool in = k < d && set.has(k);
        const int at = to + team_before(in);
        if (in) list[at] = (unsigned short)k;
        to += team_count(in);
    }
    return to;
}

// Entry (i, j) of R, by places in the list.
TEAM double listed(const RowBound& row, const Bench& w, const int i, const int j) {
    return row.R[(int)w.list[i] * (row.d + 1) + w.list[j]];
}

// cov(i, j | the first n members taken), by places in the list.
TEAM double given(const RowBound& row, const Bench& w, const int n, const int i, const int j) {
    double v = listed(row, w, i, j);
    for (int s = 0; s < n; ++s) v = fma(-w.W[s * w.pitch + i], w.W[s * w.pitch + j], v);
    return v;
}

// Rows of W for the members taken, which are the last entries of the list. False where a variance is too small.
TEAM bool take_members(const RowBound& row, const Bench& w, const int first, const int taken) {
    for (int s = 0; s < taken; ++s) {
        const double pivot = given(row, w, s, first + s, first + s);
        if (!(pivot > PIVOT_FLOOR)) return false;
        const double scale = 1.0 / sqrt(pivot);
        for (int c = team_lane(); c < first + taken; c += LANES)
            w.W[s * w.pitch + c] = given(row, w, s, first + s, c) * scale;
        team_sync();
    }
    return true;
}
