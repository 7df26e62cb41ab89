// bounded_walk.cuh -- the conditioning sets of a row that begin with one prefix: a bound answers for most pairs of last
//   members.
//   A conditioning set is a prefix P of Q members and two more, s < k. Given P, let B be the correlations of the row's
//   neighbours and h their correlations with x. For a target y and a member s let, over all k > s,
//       G_s = max |B_sk|,    G_y = max |B_yk|,    X_s = max |h_k - B_sk h_s| / sqrt(1 - B_sk^2).
//   If |h_y - h_s B_sy| - X_s (G_y + |B_sy| G_s) / sqrt(1 - G_s^2) > c sqrt(1 - h_s^2) (1 - B_sy^2 / 2), no k brings
//   the partial correlation down to c (docs/contracts/pruning.md, section 3). All targets share the maxima of s. s
//   runs from the last position down, so that the maxima grow as it goes; each s takes a few operations per target,
//   where the tests of all k > s would take a dozen each.
//   One warp per prefix; its lanes are rows of B, or values of k where tests are made.
#pragma once
#include "common/warp.cuh"

constexpr double WALK_MARGIN = 1e-9;  // margin of a bound and of a test; see docs/contracts/pruning.md, section 4
constexpr double NEAR_ONE = 0.999;    // there is no bound for s where G_s reaches this
constexpr unsigned short NO_ROW = 0xffff;

// A row, for its block; load_row fills the arrays.
struct WalkedRow {
    const double* R;   // [d + 1, d + 1] correlations of the neighbours and x
    const bool* live;  // [d] whether the neighbour is a target
    const int* ids;    // [d + 1] places of the neighbours in the row's matrix, then of x
    i64 e0;            // first pair of the row
    int x, d;          // the row and its degree
};

// State of a warp given its prefix, in shared memory. Arrays [pitch] have an entry for each row r of B, which is the
// neighbour at position pos[r]: first the targets before the end of the prefix, then all positions after it. An open
// target y of a member s is one that the bound does not dismiss to be dependent for every k.
struct Given {
    double *W, *scale, *h, *G,
        *X;                      // W [Q, pitch]: B_ij = R_ij scale_i scale_j - sum over q of W_qi W_qj; X holds X_r^2
    double* b;                   // [pitch] B_sy of each open target y
    unsigned short *pos, *open;  // open [pitch]: row of each open target, or NO_ROW once it is decided
    int pitch, first, early, rows;  // entries per array; first position after the prefix; rows before it; all rows
};

// The counts of a warp: tests of the sets that it has looked at, the tests left to be made among them, pairs (s, y).
struct Tally {
    u64 covered, made, bounds;
};

// An upper bound of 1 / v, v > 0, in single precision.
DEVICE double inverse_above(const double v) { return (double)__frcp_ru(__double2float_rd(v)); }

// Fills `w` for this prefix. Returns in bit i whether row lane + 32 i of B is a target. One warp.
template <int Q>
DEVICE unsigned give(const WalkedRow& row, Given& w, const int* prefix) {
    const int lane = threadIdx.x & 31, d = row.d, pitch = d + 1;
    const double *R = row.R, *Rx = R + d * pitch;
    w.first = prefix[Q - 1] + 1;
    w.early = w.rows = 0;
    for (int a0 = 0; a0 < d; a0 += 32) {
        const int a = a0 + lane;
        bool in = a < d && (a >= w.first || row.live[a]);
        UNROLL
        for (int j = 0; j < Q; ++j) in = in && a != prefix[j];
        const unsigned mask = __ballot_sync(FULL, in);
        if (in) w.pos[w.rows + lanes_before(mask)] = (unsigned short)a;
        w.early += __popc(__ballot_sync(FULL, in && a < w.first));
        w.rows += __popc(mask);
    }
    double L[Q * (Q + 1) / 2 + 1], inv[Q + 1], wx[Q + 1], vx = Rx[d];
    UNROLL
    for (int j = 0; j < Q; ++j) {
        double pivot = R[prefix[j] * pitch + prefix[j]], v = Rx[prefix[j]];
        UNROLL
        for (int i = 0; i < j; ++i) {
            double l = R[prefix[j] * pitch + prefix[i]];
            UNROLL
            for (int t = 0; t < i; ++t) l = fma(-L[j * (j - 1) / 2 + t], L[i * (i - 1) / 2 + t], l);
            L[j * (j - 1) / 2 + i] = l *= inv[i];
            pivot = fma(-l, l, pivot);
            v = fma(-l, wx[i], v);
        }
        inv[j] = 1.0 / sqrt(pivot);
        wx[j] = v * inv[j];
        vx = fma(-wx[j], wx[j], vx);
    }
    const double sx = 1.0 / sqrt(vx);
    __syncwarp();
    unsigned live = 0;
    for (int r = lane; r < w.rows; r += 32) {
        const int a = w.pos[r];
        double u[Q + 1], v = R[a * pitch + a], cov = Rx[a];
        UNROLL
        for (int j = 0; j < Q; ++j) {
            u[j] = R[prefix[j] * pitch + a];
            UNROLL
            for (int t = 0; t < j; ++t) u[j] = fma(-u[t], L[j * (j - 1) / 2 + t], u[j]);
            u[j] *= inv[j];
            v = fma(-u[j], u[j], v);
            cov = fma(-u[j], wx[j], cov);
        }
        const double s = 1.0 / sqrt(v);
        UNROLL
        for (int j = 0; j < Q; ++j) w.W[j * w.pitch + r] = u[j] * s;
        w.scale[r] = s;
        w.h[r] = cov * s * sx;
        w.G[r] = w.X[r] = 0.0;
        live |= (unsigned)row.live[a] << (r >> 5);
    }
    __syncwarp();
    return live;
}

// Tests the `count` open targets of s given the prefix, s and each k > s in turn, until the first k that does not leave
// a target surely dependent: that separates it, or leaves it to the tests. One warp, with lanes as k.
template <int Q>
DEVICE void test_open(const Graph& g, const Level& lv, const Pruning& f, const WalkedRow& row, const Given& w,
                      const int* prefix, const int s, const int count) {
    const int lane = threadIdx.x & 31, d = row.d, pitch = d + 1, rs = w.early + s - w.first;
    const double hs = w.h[rs], scale = w.scale[rs], out = lv.sure_out + 1e-12;
    const double below = sqrt(lv.sure_in) - WALK_MARGIN, in = below > 0.0 ? below * below : 0.0;
    double ws[Q + 1];
    UNROLL
    for (int j = 0; j < Q; ++j) ws[j] = w.W[j * w.pitch + rs];
    int left = count;
    for (int k0 = s + 1; k0 < d && left; k0 += 32) {
        const int k = k0 + lane, kk = k < d ? k : d - 1, rk = w.early + kk - w.first;
        const double scale_k = w.scale[rk];
        double wk[Q + 1], bk = row.R[s * pitch + kk] * scale * scale_k;
        UNROLL
        for (int j = 0; j < Q; ++j) {
            wk[j] = w.W[j * w.pitch + rk];
            bk = fma(-ws[j], wk[j], bk);
        }
        const double ek = fma(-bk, bk, 1.0), xk = fma(-bk, hs, w.h[rk]);
        const double determinant = fma(-xk, xk, fma(-hs, hs, 1.0) * ek);
        for (int t = 0; t < count; ++t) {
            const int ry = w.open[t];
            if (ry == NO_ROW) continue;
            const int y = w.pos[ry];
            const double by = w.b[t];
            double yk = row.R[y * pitch + kk] * w.scale[ry] * scale_k;
            UNROLL
            for (int j = 0; j < Q; ++j) yk = fma(-w.W[j * w.pitch + ry], wk[j], yk);
            yk = fma(-by, bk, yk);
            const double yy = fma(-by, by, 1.0), xy = fma(-hs, by, w.h[ry]);
            const double num = fma(-xk, yk, xy * ek), num2 = num * num, den = determinant * fma(-yk, yk, yy * ek);
            const unsigned doubt = __ballot_sync(FULL, k < d && k != y && !(num2 > out * den));
            if (!doubt) continue;
            const unsigned sure = __ballot_sync(FULL, num2 < in * den);
            const int at = __ffs((int)doubt) - 1;
            __syncwarp();  // all lanes have read w.open[t]; a vote alone does not order memory
            if (lane == 0) {
                const i64 e = row.e0 + y;
                if (sure >> at & 1) {
                    u64 rank = rank_from(lv.binom, d, lv.level, prefix, Q);
                    rank -= lv.binom(d - 1 - s, 2) + lv.binom(d - 1 - (k0 + at), 1);
                    const int other = neighbour(g, e, row.ids[y]);
                    report_separated(g, e, row.x, other, rank);
                    if (row.x < other) remove_everywhere(g, e, row.x, other);
                } else f.decided[e] = LEFT_TO_WALK;
                w.open[t] = NO_ROW;
            }
            --left;
            __syncwarp();
        }
    }
}

// Goes through all sets that begin with the prefix; with TRIAL, computes the bounds only. One warp.
template <int Q, bool TRIAL>
DEVICE void walk_prefix(const Graph& g, const Level& lv, const Pruning& f, const WalkedRow& row, Given& w,
                        const int* prefix, const double cutoff, Tally& tally) {
    const int lane = threadIdx.x & 31, d = row.d, pitch = d + 1;
    const unsigned live = give<Q>(row, w, prefix);
    const int targets = sum_over_warp(__popc(live));
    if (!targets) return;
    for (int s = d - 1; s >= w.first; --s) {
        const int rs = w.early + s - w.first;
        const double hs = w.h[rs], scale = w.scale[rs], G = w.G[rs];
        const bool bounded = G < NEAR_ONE, last = s == d - 1;
        const double reach = bounded ? sqrt(w.X[rs] / fma(-G, G, 1.0)) : 0.0;
        const double need = 0.5 * cutoff * sqrt(fma(-hs, hs, 1.0));
        double ws[Q + 1];
        UNROLL
        for (int j = 0; j < Q; ++j) ws[j] = w.W[j * w.pitch + rs];
        int open = 0;
        for (int r0 = 0; r0 < w.rows; r0 += 32) {
            const int r = r0 + lane;
            bool is_open = false;
            double b = 0.0;
            if (r < w.rows && r != rs) {
                const double h = w.h[r], Gy = w.G[r];
                b = row.R[s * pitch + w.pos[r]] * w.scale[r] * scale;
                UNROLL
                for (int j = 0; j < Q; ++j) b = fma(-ws[j], w.W[j * w.pitch + r], b);
                const double e = fma(-b, b, 1.0), size = fabs(b), v = fabs(fma(-hs, b, h));
                const double least = fma(-reach, fma(size, G, Gy), v) - fma(need, e, need);
                is_open = live >> (r0 >> 5) & 1 && !last && (!bounded || !(least > WALK_MARGIN));
                w.G[r] = fmax(Gy, size);
                if (r < rs && r >= w.early) {  // a member s still to come
                    const double u = fma(-b, h, hs);
                    w.X[r] = fmax(w.X[r], u * u * inverse_above(e));
                }
            }
            const unsigned mask = __ballot_sync(FULL, is_open);
            if (is_open) {
                const int at = open + lanes_before(mask);
                w.open[at] = (unsigned short)r;
                w.b[at] = b;
            }
            open += __popc(mask);
        }
        __syncwarp();
        tally.bounds += w.rows;
        tally.covered += (u64)targets * (d - 1 - s);
        tally.made += (u64)open * (d - 1 - s);
        if (!TRIAL && open) {
            test_open<Q>(g, lv, f, row, w, prefix, s, open);
            __syncwarp();
        }
    }
}
