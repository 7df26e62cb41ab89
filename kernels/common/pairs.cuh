// pairs.cuh -- where the correlations of a row and the state of a pair lie: in matrices of all variables, or, in the
//   kernels compiled with the macro ROW_MATRICES (pycupc/engines/gpu/kernels.py), in a matrix for each row and in a list.
//   With the macro, row x has the correlations among its first neighbours and x, and a kernel names a
//   variable of the row by its place in that matrix. Without it, the matrix is C and the place of a variable is its
//   number, so that the same source costs nothing there.
#pragma once
#include "common/structures.cuh"

// The pair of row x with variable y, which is a neighbour.
DEVICE i64 pair_of(const Graph& g, const int x, const int y) {
    const i64 first = g.start[x];
    return first + first_not_below(g.column + first, (int)(g.start[x + 1] - first), y);
}

#ifdef ROW_MATRICES
// The correlations of row x, row-major, and the numbers in a row of them.
DEVICE const double* matrix_of(const Graph& g, const int x) { return g.C + g.matrix[x]; }
DEVICE i64 pitch_of(const Graph& g, const int x) { return g.width[x]; }
// Whether row x has a matrix: hubs have none at level 1.
DEVICE bool has_matrix(const Graph& g, const int x) { return g.width[x] > 0; }
// Places in the matrix of row x: of x, of y where e is the pair (x, y), and of x or a neighbour v.
DEVICE int place_of_row(const Graph& g, const int x) { return g.width[x] - 1; }
DEVICE int place_of_pair(const Graph& g, const i64 e) { return g.place[e]; }
DEVICE int place_of(const Graph& g, const int x, const int v) {
    return v == x ? place_of_row(g, x) : g.place[pair_of(g, x, v)];
}
// The neighbour of pair e, of which the row's matrix has the place `place`.
DEVICE int neighbour(const Graph& g, const i64 e, int) { return g.column[e]; }
// The state of pair e = (x, y).
DEVICE unsigned char& state_of(const Graph& g, const i64 e, int, int) { return g.G[e]; }
DEVICE void set_states(const Graph& g, const i64 e, const int x, const int y, const unsigned char state) {
    g.G[e] = g.G[pair_of(g, y, x)] = state;
}
DEVICE i64 state_at(const Graph& g, const int x, const int y) { return pair_of(g, x, y); }
// Pair e becomes pair `at` of the next graph.
DEVICE void keep_pair(const Graph& g, const i64 e, const Graph& next, const i64 at) {
    next.place[at] = g.place[e];
    next.G[at] = g.G[e];
}
#else
DEVICE const double* matrix_of(const Graph& g, int) { return g.C; }
DEVICE i64 pitch_of(const Graph& g, int) { return g.p; }
DEVICE bool has_matrix(const Graph&, int) { return true; }
DEVICE int place_of_row(const Graph&, const int x) { return x; }
DEVICE int place_of_pair(const Graph& g, const i64 e) { return g.column[e]; }
DEVICE int place_of(const Graph&, int, const int v) { return v; }
DEVICE int neighbour(const Graph&, i64, const int place) { return place; }
DEVICE unsigned char& state_of(const Graph& g, i64, const int x, const int y) { return g.G[(i64)x * g.p + y]; }
DEVICE void set_states(const Graph& g, i64, const int x, const int y, const unsigned char state) {
    g.G[(i64)x * g.p + y] = g.G[(i64)y * g.p + x] = state;
}
DEVICE i64 state_at(const Graph& g, const int x, const int y) { return (i64)x * g.p + y; }
DEVICE void keep_pair(const Graph&, i64, const Graph&, i64) {}
#endif

// Side A removes pair e = (x, y), on the other devices too, which then need not search for it from the side of y.
DEVICE void remove_everywhere(const Graph& g, const i64 e, const int x, const int y) {
    set_states(g, e, x, y, GONE_A);
    for (i64 i = 0; i < g.n_peers; ++i) g.peers[i][state_at(g, y, x)] = GONE_A;
}
