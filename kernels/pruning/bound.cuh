// bound.cuh -- the bound of a node: no choice of m of its candidates separates x and y.
//   Source: docs/contracts/pruning.md, section 2. Its vector g is 0 here, so that a score takes a product with z and no more.
#pragma once
#include "pruning/node.cuh"

constexpr int FIRST_STEPS = 3, ROUNDS = 6;  // conjugate gradient steps of the first round; rounds after it, of one step
constexpr double LEAST_WEIGHT = 1e-5;
constexpr double ROUNDING = 5e-7;          // error of a sum of products of Words::near and z, over the sum of |z|
constexpr double ENTRY_PER_MARGIN = 4e-3;  // error of a covariance given the members taken, as a multiple of the margin

// A node as a problem. Each array is spread over the warp: slot i of lane t holds candidate t + i * LANES of the list.
//   a        sqrt(t) xi + eta / sqrt(t), where xi and eta are the covariances with x and y, which are scaled to
//            variance 1 given the members taken
//   v        variances given the members taken
//   delta    as Row::delta
//   alive    whether some set that is not yet dismissed may contain the candidate
//   weight   weights of the relaxation (lambda), in [0, 1], with sum m
//   z, u     the present vector, and a - E z; E = cov(candidates | taken) - diag(delta)
//   s        scores: a set T is dismissed if w z'Ez + (sum of s over T) < budget
//   path     sum of |z| over all steps so far; u and Ez err by less than path * rounding
template <int SLOTS>
struct Problem {
    double a[SLOTS], v[SLOTS], delta[SLOTS], weight[SLOTS], z[SLOTS], u[SLOTS], s[SLOTS];
    int at[SLOTS];  // position, or 0 where there is no candidate
    bool alive[SLOTS];
    double w, budget, zEz, path, rounding;
    int q, m, taken;  // candidates, members to choose, members taken

    DEVICE bool there(const int i) const { return lane_id() + i * LANES < q; }
};

// out = cov(candidates | taken) times the vector w.p, nearly: R row by row, then the rows of W in groups, whose sums
// overlap.
template <int SLOTS>
DEVICE void multiply(const Row& row, const Space& w, const Problem<SLOTS>& pr, double* out) {
    constexpr int GROUP = SLOTS <= 2 ? 4 : 2;
    const int pitch = row.d + 1;
    double p[SLOTS];
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        out[i] = 0.0;
        p[i] = pr.there(i) ? w.p[lane_id() + i * LANES] : 0.0;
    }
    UNROLL4
    for (int j = 0; j < pr.q; ++j) {
        const int r = (int)w.list[j] * pitch;
        const double pj = w.p[j];
        UNROLL
        for (int i = 0; i < SLOTS; ++i) out[i] = fma(row.R.near(r + pr.at[i]), pj, out[i]);
    }
    for (int s = 0; s < pr.taken; s += GROUP) {
        double own[GROUP][SLOTS], dot[GROUP];
        UNROLL
        for (int k = 0; k < GROUP; ++k) {
            dot[k] = 0.0;
            UNROLL
            for (int i = 0; i < SLOTS; ++i) {
                own[k][i] = s + k < pr.taken ? w.W[(s + k) * pitch + pr.at[i]] : 0.0;
                dot[k] = fma(own[k][i], p[i], dot[k]);
            }
        }
        sums_over_warp<GROUP>(dot);
        UNROLL
        for (int k = 0; k < GROUP; ++k) {
            UNROLL
            for (int i = 0; i < SLOTS; ++i) out[i] = fma(-own[k][i], dot[k], out[i]);
        }
    }
}

// The sum of the m largest scores is at most m tau + sum of max(s - tau, 0), for every tau.
struct Top {
    double sum, tau;  // the bound; tau: the largest score that is not among the m largest, or a little more
    double next;      // the largest score that is not above tau
};

// The bound for this tau.
template <int SLOTS>
DEVICE double top_sum(const Problem<SLOTS>& pr, const double tau) {
    double sum = 0.0;
    UNROLL
    for (int i = 0; i < SLOTS; ++i)
        if (pr.alive[i]) sum += fmax(pr.s[i] - tau, 0.0);
    return sum_over_warp(sum) + pr.m * tau;
}

// The bound for a tau found by bisection: at most m scores are above it.
template <int SLOTS>
DEVICE Top top_of(const Problem<SLOTS>& pr) {
    double low = 0.0, high = 0.0;  // scores are not negative
    UNROLL
    for (int i = 0; i < SLOTS; ++i)
        if (pr.alive[i]) high = fmax(high, pr.s[i]);
    high = max_over_warp(high);
    int above = 0;
    for (int step = 0; step < 40 && above != pr.m; ++step) {
        const double middle = 0.5 * (low + high);
        above = 0;
        UNROLL
        for (int i = 0; i < SLOTS; ++i) above += lanes_with(pr.alive[i] && pr.s[i] > middle);
        if (above > pr.m) low = middle;
        else high = middle;
    }
    double next = 0.0;
    UNROLL
    for (int i = 0; i < SLOTS; ++i)
        if (pr.alive[i] && pr.s[i] <= high) next = fmax(next, pr.s[i]);
    return {top_sum(pr, high), high, max_over_warp(next)};
}

// `steps` steps of conjugate gradients for (E + diag(delta / weight)) z = a, from the present z on, with the diagonal
// as preconditioner.
template <int SLOTS>
DEVICE void improve(const Row& row, const Space& w, Problem<SLOTS>& pr, const int steps) {
    double product[SLOTS], extra[SLOTS], diagonal[SLOTS], rz = 0.0;
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        extra[i] = pr.delta[i] / pr.weight[i];
        diagonal[i] = 1.0 / (pr.v[i] - pr.delta[i] + extra[i]);
        const double r = pr.u[i] - extra[i] * pr.z[i], y = r * diagonal[i];
        if (pr.there(i)) {
            w.p[lane_id() + i * LANES] = y;
            rz = fma(r, y, rz);
        }
    }
    rz = sum_over_warp(rz);
    for (int step = 0; step < steps; ++step) {
        __syncwarp();
        multiply(row, w, pr, product);
        double sums[2] = {0.0, 0.0};  // curvature along p; sum of |p|
        UNROLL
        for (int i = 0; i < SLOTS; ++i) {
            const double p = pr.there(i) ? w.p[lane_id() + i * LANES] : 0.0;
            product[i] = fma(-pr.delta[i], p, product[i]);  // E p
            sums[0] = fma(p, fma(extra[i], p, product[i]), sums[0]);
            sums[1] += fabs(p);
        }
        sums_over_warp<2>(sums);
        const double along = sums[0] > 0.0 ? rz / sums[0] : 0.0;
        pr.path = fma(fabs(along), sums[1], pr.path);
        double next = 0.0;
        UNROLL
        for (int i = 0; i < SLOTS; ++i) {
            const double p = pr.there(i) ? w.p[lane_id() + i * LANES] : 0.0;
            pr.z[i] = fma(along, p, pr.z[i]);
            pr.u[i] = fma(-along, product[i], pr.u[i]);
            const double r = fma(-extra[i], pr.z[i], pr.u[i]);
            product[i] = r * diagonal[i];
            if (pr.there(i)) next = fma(r, product[i], next);
        }
        if (step + 1 == steps) break;
        next = sum_over_warp(next);
        const double again = rz > 0.0 ? next / rz : 0.0;
        rz = next;
        __syncwarp();
        UNROLL
        for (int i = 0; i < SLOTS; ++i)
            if (pr.there(i)) {
                double& p = w.p[lane_id() + i * LANES];
                p = fma(again, p, product[i]);
            }
    }
    __syncwarp();
}

// Computes the scores of the present z. Returns whether the node is hopeless: whether the present weights give a lower
// bound, for every z, that is above the budget.
template <int SLOTS>
DEVICE bool score(Problem<SLOTS>& pr) {
    double zEz = 0.0, reach = 0.0;
    const double error = pr.path * pr.rounding;
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        const double u = fabs(pr.u[i]) + error;
        pr.s[i] = pr.w * u * u / pr.delta[i];
        zEz = fma(pr.z[i], pr.a[i] - pr.u[i], zEz);
        reach = fma(pr.z[i], pr.a[i] + pr.u[i] - pr.delta[i] / pr.weight[i] * pr.z[i], reach);
    }
    double sums[2] = {zEz, reach};
    sums_over_warp<2>(sums);
    pr.zEz = fma(error, pr.path, sums[0]);
    return pr.w * sums[1] > pr.budget;
}

// Moves the weights a step towards the m largest scores (Frank and Wolfe), for the next round.
template <int SLOTS>
DEVICE void move_weights(Problem<SLOTS>& pr, const double tau, const double step) {
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        const double to = pr.alive[i] && pr.s[i] > tau ? 1.0 : 0.0;
        pr.weight[i] = fmax(LEAST_WEIGHT, fma(step, to - pr.weight[i], pr.weight[i]));
    }
}

// Drops the candidates all of whose sets are dismissed. Returns how many stay.
template <int SLOTS>
DEVICE int drop_candidates(Problem<SLOTS>& pr, const Top& top) {
    const double rest = pr.w * pr.zEz + top.sum - top.tau;
    int n = 0;
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        if (pr.alive[i] && pr.s[i] <= top.tau && rest + pr.s[i] < pr.budget) pr.alive[i] = false;
        n += lanes_with(pr.alive[i]);
    }
    return n;
}

// Tries to dismiss all sets of the node; true if that succeeds. Otherwise `alive` says which candidates are left,
// and `top` is the bound on the sum of their scores.
template <int SLOTS>
DEVICE bool dismiss(const Row& row, const Space& w, Problem<SLOTS>& pr, Top& top) {
    for (int round = 0;; ++round) {
        improve(row, w, pr, round ? 1 : FIRST_STEPS);
        const bool hopeless = score(pr);
        top = top_of(pr);
        if (pr.w * pr.zEz + top.sum < pr.budget) return true;
        const int left = drop_candidates(pr, top);
        if (left < pr.m) return true;
        if (left == pr.m || hopeless || round == ROUNDS) return false;
        move_weights(pr, top.tau, 2.0 / (round + 3.0));
    }
}
