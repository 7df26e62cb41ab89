// branch.cuh -- the outcome of a node: no set is open, one is, or there are one or two smaller nodes.
#pragma once
#include "pruning/bound.cuh"

enum Verdict {
    NONE,            // no set of the node is open: x and y are surely dependent given each
    OPEN,            // `taken` has become a set that is not surely dependent
    DIVIDED,         // the node has become a smaller one
    DIVIDED_IN_TWO,  // the node has become its first child, and `other` its second
    FAILED           // cannot be decided here: a variance is too small, or there are too many nodes or members
};

// The sets of two of q candidates in lexicographic order: positions f < b of the two in set t.
struct Two {
    int f, b;
};
DEVICE Two two_at(const int t, const int q) {
    const int left = q * (q - 1) / 2 - 1 - t;                          // sets after this one
    const int m = (int)((sqrt((float)(8 * left + 1)) - 1.0f) * 0.5f);  // m (m + 1) / 2 <= left
    return {q - 2 - m, q - 1 - (left - m * (m + 1) / 2)};
}

// Tests every set of a node with one or two members left to choose, in lexicographic order, until one is open; or all
// of them, if the smallest r^2 is wanted. rho and margin are scaled as in `examine`. A lane tests AT_ONCE sets at a
// time, so that their loads overlap. Covariances and variances given {f, b} are compared as multiples of the
// determinant of cov(f, b), which saves the divisions.
template <int SLOTS>
DEVICE Verdict test_all(const Row& row, const Space& w, const Problem<SLOTS>& pr, Node& node, const double rho,
                        const double margin, const Threshold& threshold) {
    constexpr int AT_ONCE = 4;
    const double c2 = threshold.cutoff * threshold.cutoff;
    double smallest = 1.0;
    const bool both = pr.m == 2;
    const int pitch = row.d + 1, sets = both ? pr.q * (pr.q - 1) / 2 : pr.q;
    for (int t0 = 0; t0 < sets; t0 += AT_ONCE * LANES) {
        Two at[AT_ONCE];
        int f[AT_ONCE], b[AT_ONCE];  // positions in the row
        double g[AT_ONCE];           // cov(f, b)
        UNROLL
        for (int i = 0; i < AT_ONCE; ++i) {
            const int own = t0 + i * LANES + lane_id(), t = own < sets ? own : sets - 1;
            at[i] = both ? two_at(t, pr.q) : Two{t, t};
            f[i] = w.list[at[i].f];
            b[i] = w.list[at[i].b];
            g[i] = row.R.at(f[i] * pitch + b[i]);
        }
        for (int s = 0; s < pr.taken; ++s) {
            const double* W = w.W + s * pitch;
            UNROLL
            for (int i = 0; i < AT_ONCE; ++i) g[i] = fma(-W[f[i]], W[b[i]], g[i]);
        }
        int first = sets;
        UNROLL
        for (int i = AT_ONCE - 1; i >= 0; --i) {
            double xf = w.x[at[i].f], yf = w.y[at[i].f], vf = w.v[at[i].f];
            if (!both) {
                xf = yf = g[i] = 0.0;
                vf = 1.0;
            }
            const double xb = w.x[at[i].b], yb = w.y[at[i].b], vb = w.v[at[i].b], det = fma(vf, vb, -g[i] * g[i]);
            const double xx = fma(xf * vb, xf, xb * fma(vf, xb, -2.0 * g[i] * xf));
            const double yy = fma(yf * vb, yf, yb * fma(vf, yb, -2.0 * g[i] * yf));
            const double xy = fma(xf * vb, yf, xb * fma(vf, yb, -g[i] * yf)) - g[i] * xf * yb;
            const double above = fabs(fma(rho, det, -xy)), num = above - margin * det, den = (det - xx) * (det - yy);
            const int t = t0 + i * LANES + lane_id();
            if (t >= sets || (num > 0.0 && num * num > c2 * den)) continue;
            if (threshold.smallest) smallest = den > 0.0 ? fmin(smallest, above * above / den) : smallest;
            else first = t;
        }
        if (!__any_sync(FULL, first < sets)) continue;
        first = sets - max_over_warp(sets - first);
        const Two found = both ? two_at(first, pr.q) : Two{first, first};
        if (lane_id() == 0) {
            node.taken.add(w.list[found.b]);
            if (both) node.taken.add(w.list[found.f]);
        }
        __syncwarp();
        return OPEN;
    }
    if (smallest < 1.0) lower(*threshold.smallest, smallest);
    return NONE;
}

// The pair and the candidates given the members taken: returns variances and covariance of x and y, and fills pr.a with
// cov(candidate, x), pr.u with cov(candidate, y), and pr.v with var(candidate).
struct Moments {
    double vx, vy, cov;
};
template <int SLOTS>
DEVICE Moments moments_of(const Row& row, const Space& w, const int target, Problem<SLOTS>& pr) {
    const int x = row.d, y = target, pitch = row.d + 1;
    Moments m = {row.R.at(x * pitch + x), row.R.at(y * pitch + y), row.R.at(x * pitch + y)};
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        const int k = pr.there(i) ? w.list[lane_id() + i * LANES] : 0;
        pr.at[i] = k;
        pr.a[i] = row.R.at(x * pitch + k);
        pr.u[i] = row.R.at(y * pitch + k);
        pr.v[i] = row.R.at(k * pitch + k);
    }
    UNROLL2
    for (int s = 0; s < pr.taken; ++s) {
        const double* W = w.W + s * pitch;
        const double wx = W[x], wy = W[y];
        m.vx = fma(-wx, wx, m.vx);
        m.vy = fma(-wy, wy, m.vy);
        m.cov = fma(-wx, wy, m.cov);
        UNROLL
        for (int i = 0; i < SLOTS; ++i) {
            const double k = W[pr.at[i]];
            pr.a[i] = fma(-k, wx, pr.a[i]);
            pr.u[i] = fma(-k, wy, pr.u[i]);
            pr.v[i] = fma(-k, k, pr.v[i]);
        }
    }
    return m;
}

// Prepares the relaxation from the correlation rho > 0 of x and y, and from a and u, the candidates' covariances with x
// and y: budget, w, a and first weights, for the cutoff c. False if the budget is not positive; s then says which
// candidates are strong.
template <int SLOTS>
DEVICE bool set_up(const Row& row, Problem<SLOTS>& pr, const double rho, const double margin, const double c) {
    double squares[2] = {0.0, 0.0};
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        const double inv = pr.there(i) ? 1.0 / pr.v[i] : 0.0;
        squares[0] = fma(pr.a[i] * inv, pr.a[i], squares[0]);
        squares[1] = fma(pr.u[i] * inv, pr.u[i], squares[1]);
        pr.s[i] = fabs(pr.a[i] * pr.u[i]) * inv;
        pr.alive[i] = pr.there(i);
    }
    sums_over_warp<2>(squares);
    double t = fmin(1.5, fmax(2.0 / 3.0, sqrt(squares[1] / fmax(1e-300, squares[0]))));
    if (rho - 0.5 * c * (t + 1.0 / t) <= margin) t = 1.0;
    pr.budget = rho - 0.5 * c * (t + 1.0 / t) - margin;
    pr.w = 0.25 * (1.0 - c);
    pr.zEz = pr.path = 0.0;
    pr.rounding = ROUNDING + (pr.taken ? ENTRY_PER_MARGIN * row.margin : 0.0);
    if (!(pr.budget > 0.0)) return false;
    const double root = sqrt(t), over = 1.0 / root, weight = (double)pr.m / pr.q;
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        pr.delta[i] = row.delta[pr.at[i]];
        pr.a[i] = pr.there(i) ? fma(root, pr.a[i], over * pr.u[i]) : 0.0;
        pr.u[i] = pr.a[i];
        pr.z[i] = 0.0;
        pr.weight[i] = weight;
    }
    return true;
}

// Replaces the node by its children: the one with the candidate of the largest score by `node`, the one without it by
// `other`. Where members are known that every open set has, there is one child, which takes them.
template <int SLOTS>
DEVICE Verdict divide(const Problem<SLOTS>& pr, const Top& top, Node& node, Node& other) {
    const double rest = pr.w * pr.zEz + top_sum(pr, top.next) + top.next;
    int left = 0, known = 0;
    double most = -1.0;
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        left += lanes_with(pr.alive[i]);
        if (pr.there(i) && !pr.alive[i]) node.kept.drop(pr.at[i]);
        if (pr.alive[i]) most = fmax(most, pr.s[i]);
    }
    most = max_over_warp(most);
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        const bool in = pr.alive[i] && (left == pr.m || (pr.s[i] > top.tau && rest - pr.s[i] < pr.budget));
        if (in) {
            node.kept.drop(pr.at[i]);
            node.taken.add(pr.at[i]);
        }
        known += lanes_with(in);
    }
    __syncwarp();
    if (known) {
        if (lane_id() == 0) node.choose = pr.m - known;
        __syncwarp();
        return DIVIDED;
    }
    int best = 0;
    bool mine = false;
    UNROLL
    for (int i = 0; i < SLOTS; ++i)
        if (pr.alive[i] && pr.s[i] == most) {
            best = pr.at[i];
            mine = true;
        }
    best = of_first_lane_with(mine, best);
    if (lane_id() == 0) {
        node.kept.drop(best);
        other = node;
        node.taken.add(best);
        node.choose = pr.m - 1;
    }
    __syncwarp();
    return DIVIDED_IN_TWO;
}

// Whether |r| of the pair given the members taken is surely below `limit`.
DEVICE bool surely_below(const Row& row, const Space& w, const Node& node, const double limit) {
    if (!factorise(row, w, node.taken)) return false;
    const int x = row.d, y = node.target;
    return fabs(given(row, w, x, y)) + row.margin < limit * sqrt(given(row, w, x, x) * given(row, w, y, y));
}

// Examines a node; see Verdict for the outcome in `node` and `other`.
template <int SLOTS>
OUT_OF_LINE Verdict examine(const Row& row, const Space& w, Node& node, Node& other, const Threshold threshold) {
    Problem<SLOTS> pr;
    pr.m = node.choose;
    pr.q = list_members(node.kept, row.d, w.list);
    if (pr.q < pr.m) return NONE;
    if (!factorise(row, w, node.taken)) return FAILED;
    pr.taken = w.factor->count;
    const Moments given_taken = moments_of(row, w, node.target, pr);
    __syncwarp();  // all lanes have read the node; from here on one may change it
    const double vx = given_taken.vx, vy = given_taken.vy;
    if (!(vx > PIVOT_FLOOR && vy > PIVOT_FLOOR)) return FAILED;
    const double sx = 1.0 / sqrt(vx), sy = 1.0 / sqrt(vy), cov = given_taken.cov * (sx * sy);
    const double rho = fabs(cov), scale_y = cov < 0.0 ? -sy : sy, margin = row.margin * (sx * sy);
    if (pr.m == 0) {
        if (rho - margin > threshold.cutoff) return NONE;
        if (!threshold.smallest) return OPEN;
        if (lane_id() == 0) lower(*threshold.smallest, rho * rho);
        return NONE;
    }
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        pr.a[i] *= sx;
        pr.u[i] *= scale_y;
        const int j = lane_id() + i * LANES;
        if (pr.m <= 2 && j < pr.q) {
            w.x[j] = pr.a[i];
            w.y[j] = pr.u[i];
            w.v[j] = pr.v[i];
        }
    }
    if (pr.m <= 2) {
        __syncwarp();
        return test_all(row, w, pr, node, rho, margin, threshold);
    }
    Top top = {0.0, 1e300, 1e300};
    if (set_up(row, pr, rho, margin, threshold.cutoff) && dismiss(row, w, pr, top)) return NONE;
    return divide(pr, top, node, other);
}
