// search.cuh -- finds the lexicographically first open set of a pair: the first conditioning set given which the pair
//   is not surely dependent. One team.
#pragma once
#include "pruning/examine.cuh"

constexpr int DEPTH = 128;  // most nodes that wait during one question; also in pycupc/engines/gpu/pruning.py

// Nodes of a team, in shared memory.
struct Hand {
    Node node, other, best;  // the one to be examined; its second child; the sets among which the first open one is
    Mask witness;            // an open set
};

// Whether some set of h.node is open: OPEN (h.node.taken then is one), PROVEN (none is), or FAILED. Examines at most
// `left` nodes, and counts `left` down. stack: [DEPTH] nodes that wait.
template <int SLOTS>
TEAM Verdict find_any(const RowBound& row, const Bench& w, Hand& h, Node* stack, int& left) {
    for (int waiting = 0;;) {
        if (left-- <= 0) return FAILED;
        const Verdict verdict = examine<SLOTS>(row, w, h.node, h.other);
        if (verdict == OPEN || verdict == FAILED) return verdict;
        if (verdict == SPLIT_IN_TWO) {
            if (waiting == DEPTH) return FAILED;
            if (team_lane() == 0) stack[waiting] = h.other;
            ++waiting;
        } else if (verdict == PROVEN) {
            if (waiting == 0) return PROVEN;
            --waiting;
            if (team_lane() == 0) h.node = stack[waiting];
        }
        team_sync();
    }
}

// Finds the first open set of h.best; there is one, namely h.witness. Asks for each candidate in ascending order
// whether an open set contains it, given the decisions before; a candidate in the witness needs no question. Returns
// whether h.best.taken has become the set. stack and left: as in find_any.
template <int SLOTS>
TEAM bool find_first(const RowBound& row, const Bench& w, Hand& h, Node* stack, int& left) {
    for (int k = 0; k < row.d && h.best.choose > 0; ++k) {
        if (!h.best.kept.has(k)) continue;
        bool take = h.witness.has(k);
        team_sync();
        if (team_lane() == 0) {
            h.best.kept.drop(k);
            if (!take) {
                h.node = h.best;
                h.node.taken.add(k);
                --h.node.choose;
            }
        }
        team_sync();
        if (!take) {
            const Verdict verdict = find_any<SLOTS>(row, w, h, stack, left);
            if (verdict == FAILED) return false;
            take = verdict == OPEN;
            if (take && team_lane() == 0) h.witness = h.node.taken;
        }
        if (take && team_lane() == 0) {
            h.best.taken.add(k);
            --h.best.choose;
        }
        team_sync();
    }
    return true;
}
