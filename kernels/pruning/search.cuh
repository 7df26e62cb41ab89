// search.cuh -- the lexicographically first conditioning set of a pair that is not surely dependent, by one team.
#pragma once
#include "pruning/examine.cuh"

constexpr int DEPTH = 128;  // nodes that wait during one question; also in pycupc/engines/gpu/pruning.py

// Nodes of a team, in shared memory.
struct Hand {
    Node node, other, best;
    Mask witness;
};

// Whether some set of h.node is not surely dependent: OPEN (h.node.taken is one), PROVEN (none), FAILED. At most `left`
// nodes are examined, which it counts down.
TEAM_CALL Verdict find_any(const RowBound& row, const Bench& w, Hand& h, Node* stack, int& left) {
    for (int waiting = 0;;) {
        if (left-- <= 0) return FAILED;
        const Verdict verdict = examine(row, w, h.node, h.other);
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

// Narrows h.best down: drops candidates that no open set has, takes those that every one has. SPLIT: not done yet; OPEN:
// h.best.taken is the first open set.
TEAM Verdict narrow(const RowBound& row, const Bench& w, Hand& h, int& left) {
    for (;;) {
        if (left-- <= 0) return FAILED;
        if (team_lane() == 0) h.node = h.best;
        team_sync();
        const Verdict verdict = examine(row, w, h.node, h.other);
        if (verdict == PROVEN || verdict == FAILED) return FAILED;
        if (team_lane() == 0) {
            if (verdict == SPLIT_IN_TWO) {
                for (int i = 0; i < WORDS; ++i)
                    h.best.kept.word[i] = h.node.kept.word[i] | (h.node.taken.word[i] & ~h.best.taken.word[i]);
            } else {
                h.best = h.node;
            }
        }
        team_sync();
        if (verdict == SPLIT_IN_TWO) return SPLIT;
        if (verdict == OPEN) return OPEN;
    }
}

// The lexicographically first set of h.best that is not surely dependent (open); there is one, h.witness. Asks for the
// candidates in ascending order whether an open set has them, given the decisions before; one in the witness needs no
// question. True: h.best.taken is the set.
TEAM bool find_first(const RowBound& row, const Bench& w, Hand& h, Node* stack, int& left) {
    bool fresh = true;  // a member has been taken since `narrow`
    for (int k = 0; k < row.d; ++k) {
        if (fresh) {
            const Verdict verdict = narrow(row, w, h, left);
            if (verdict == OPEN) return true;
            if (verdict == FAILED) return false;
            fresh = false;
        }
        if (!h.best.kept.has(k)) continue;
        fresh = h.witness.has(k);
        team_sync();
        if (team_lane() == 0) {
            h.best.kept.drop(k);
            if (!fresh) {
                h.node = h.best;
                h.node.taken.add(k);
                --h.node.choose;
            }
        }
        team_sync();
        if (!fresh) {
            const Verdict verdict = find_any(row, w, h, stack, left);
            if (verdict == FAILED) return false;
            fresh = verdict == OPEN;
            if (fresh && team_lane() == 0) h.witness = h.node.taken;
        }
        if (fresh && team_lane() == 0) {
            h.best.taken.add(k);
            --h.best.choose;
        }
        team_sync();
    }
    return false;
}
