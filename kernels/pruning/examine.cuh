// examine.cuh -- what becomes of a node: proven, open, or two smaller nodes.
#pragma once
#include "pruning/relaxation.cuh"

enum Verdict {
    PROVEN,  // every set of the node is surely dependent
    OPEN,    // `taken` has become a set that is not
    SPLIT,   // the node has become a smaller one, and maybe left another
    FAILED   // cannot be decided here
};

// One or two members are left to choose: tests every set, in lexicographic order, scaled as in `examine`.
template <int SLOTS>
TEAM Verdict test_all(const RowBound& row, const Bench& w, const Problem<SLOTS>& pr, Node& node, const double rho,
                      const double margin) {
    const double c2 = row.cutoff * row.cutoff;
    const bool both = pr.m == 2;
    for (int f = 0; f < (both ? pr.q - 1 : 1); ++f) {
        const double xf = both ? w.x[f] : 0.0, yf = both ? w.y[f] : 0.0, inv = 1.0 / w.v[f];
        const double vx = fma(-xf * inv, xf, 1.0), vy = fma(-yf * inv, yf, 1.0), cov = fma(-xf * inv, yf, rho);
        for (int b = both ? f + 1 : 0; b < pr.q; b += LANES) {
            const int j = b + team_lane();
            bool doubt = false;
            if (j < pr.q) {
                const double e = both ? given(row, w, pr.taken, j, f) * inv : 0.0;
                const double u = 1.0 / fma(-e * w.v[f], e, w.v[j]), x = fma(-e, xf, w.x[j]), y = fma(-e, yf, w.y[j]);
                const double num = fabs(fma(-x * u, y, cov)) - margin;
                const double px = fma(-x * u, x, vx), py = fma(-y * u, y, vy);
                doubt = !(num > 0.0 && num * num > c2 * px * py);
            }
            if (!team_any(doubt)) continue;
            const int last = team_pick(j, doubt);
            if (team_lane() == 0) {
                node.taken.add(w.list[last]);
                if (both) node.taken.add(w.list[f]);
            }
            team_sync();
            return OPEN;
        }
    }
    return PROVEN;
}

// Correlations, weights and the budget of the relaxation; rho > 0 is the correlation of x and y. False where the budget
// is not positive.
template <int SLOTS>
TEAM bool set_up(const RowBound& row, const Bench& w, Problem<SLOTS>& pr, const double rho, const double margin) {
    const double c = row.cutoff;
    double xx = 0.0, yy = 0.0;
    for (int j = team_lane(); j < pr.q; j += LANES) {
        const double inv = 1.0 / w.v[j];
        xx = fma(w.x[j] * inv, w.x[j], xx);
        yy = fma(w.y[j] * inv, w.y[j], yy);
    }
    double t = fmin(1.5, fmax(2.0 / 3.0, sqrt(team_sum(yy) / fmax(1e-300, team_sum(xx)))));
    if (rho - 0.5 * c * (t + 1.0 / t) <= margin) t = 1.0;
    pr.budget = rho - 0.5 * c * (t + 1.0 / t) - margin;
    pr.w = 0.25 * (1.0 - c);
    const double root = sqrt(t), weight = (double)pr.m / pr.q;
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        const int j = pr.there(i) ? team_lane() + i * LANES : 0;
        pr.at[i] = w.list[j];
        pr.v[i] = w.v[j];
        pr.delta[i] = row.delta[pr.at[i]];
        pr.a[i] = pr.there(i) ? fma(root, w.x[j], w.y[j] / root) : 0.0;
        pr.u[i] = pr.a[i];
        pr.z[i] = 0.0;
        pr.weight[i] = weight;
        pr.alive[i] = pr.there(i);
    }
    return pr.budget > 0.0;
}

// The node's children: the one with the most promising candidate replaces it, the one without becomes `other`. Where
// members are known that every open set has, there is one child, with them. Returns whether there is an other.
template <int SLOTS>
TEAM bool split(const Problem<SLOTS>& pr, const Top& top, Node& node, Node& other) {
    const double rest = pr.w * pr.zEz + top_sum(pr, top.next) + top.next;
    int left = 0, known = 0;
    double most = -1.0;
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        left += team_count(pr.alive[i]);
        if (pr.there(i) && !pr.alive[i]) node.kept.drop(pr.at[i]);
        if (pr.alive[i]) most = fmax(most, pr.s[i]);
    }
    most = team_max(most);
    UNROLL
    for (int i = 0; i < SLOTS; ++i) {
        const bool in = pr.alive[i] && (left == pr.m || (pr.s[i] > top.tau && rest - pr.s[i] < pr.budget));
        if (in) {
            node.kept.drop(pr.at[i]);
            node.taken.add(pr.at[i]);
        }
        known += team_count(in);
    }
    team_sync();
    if (known) {
        if (team_lane() == 0) node.choose = pr.m - known;
        team_sync();
        return false;
    }
    int best = 0;
    bool mine = false;
    UNROLL
    for (int i = 0; i < SLOTS; ++i)
        if (pr.alive[i] && pr.s[i] == most) {
            best = pr.at[i];
            mine = true;
        }
    best = team_pick(best, mine);
    if (team_lane() == 0) {
        node.kept.drop(best);
        other = node;
        node.taken.add(best);
        node.choose = pr.m - 1;
    }
    team_sync();
    return true;
}

// Whether |r| of the pair given the members taken is surely below `limit`.
TEAM bool surely_below(const RowBound& row, const Bench& w, const Node& node, const double limit) {
    team_sync();
    if (team_lane() == 0) {
        w.list[0] = (unsigned short)row.d;
        w.list[1] = (unsigned short)node.target;
    }
    const int taken = list_members(node.taken, row.d, w.list, 2) - 2;
    team_sync();
    if (taken > MOST_TAKEN || !take_members(row, w, 2, taken)) return false;
    const double scale = given(row, w, taken, 0, 0) * given(row, w, taken, 1, 1);
    return fabs(given(row, w, taken, 0, 1)) + row.margin < limit * sqrt(scale);
}

// Examines a node; a node that is SPLIT becomes its first child, and `other` its second, if `two`.
template <int SLOTS>
TEAM Verdict examine(const RowBound& row, const Bench& w, Node& node, Node& other, bool& two) {
    Problem<SLOTS> pr;
    two = false;
    pr.m = node.choose;
    pr.q = list_members(node.kept, row.d, w.list, 0);
    if (pr.q < pr.m) return PROVEN;
    if (team_lane() == 0) {
        w.list[pr.q] = (unsigned short)row.d;
        w.list[pr.q + 1] = (unsigned short)node.target;
    }
    const int X = pr.q, Y = pr.q + 1;
    pr.taken = list_members(node.taken, row.d, w.list, pr.q + 2) - pr.q - 2;
    team_sync();
    if (pr.taken > MOST_TAKEN || !take_members(row, w, pr.q + 2, pr.taken)) return FAILED;
    const double vx = given(row, w, pr.taken, X, X), vy = given(row, w, pr.taken, Y, Y);
    if (!(vx > PIVOT_FLOOR && vy > PIVOT_FLOOR)) return FAILED;
    const double sx = 1.0 / sqrt(vx), sy = 1.0 / sqrt(vy), cov = given(row, w, pr.taken, X, Y) * (sx * sy);
    const double rho = fabs(cov), sign = cov < 0.0 ? -1.0 : 1.0, margin = row.margin * (sx * sy);
    if (pr.m == 0) return rho - margin > row.cutoff ? PROVEN : OPEN;
    for (int j = team_lane(); j < pr.q; j += LANES) {
        w.x[j] = given(row, w, pr.taken, j, X) * sx;
        w.y[j] = given(row, w, pr.taken, j, Y) * (sy * sign);
        w.v[j] = given(row, w, pr.taken, j, j);
    }
    team_sync();
    if (pr.m <= 2) return test_all(row, w, pr, node, rho, margin);
    Top top;
    if (set_up(row, w, pr, rho, margin)) {
        if (prove(row, w, pr, top)) return PROVEN;
    } else {  // a correlation below the cutoff: the strongest candidate decides
        UNROLL
        for (int i = 0; i < SLOTS; ++i)
            pr.s[i] = pr.alive[i] ? fabs(w.x[team_lane() + i * LANES] * w.y[team_lane() + i * LANES]) : 0.0;
        pr.zEz = 0.0;
        top = {0.0, 1e300, 1e300};
    }
    two = split(pr, top, node, other);
    return SPLIT;
}
