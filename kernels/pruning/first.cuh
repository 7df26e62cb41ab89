// first.cuh -- finds the lexicographically first open set of a pair: the first conditioning set given which the pair
//   is not surely dependent. Warps may share the work.
#pragma once
#include "pruning/branch.cuh"

// most nodes that wait during one question; also in pycupc/engines/gpu/pruning/device_branch_and_bound.py
constexpr int DEPTH = 128;

constexpr int NEVER = 1 << 30;  // above all positions

// Nodes that a warp examines, in shared memory.
struct Examined {
    Node node, other;  // the one to be examined; its second child
};

// The search for the first open set of a pair. The smallest position that the set has beyond those in
// best.taken is sought by questions, one per candidate below `end`: is there an open set that contains the candidate
// and no candidate below it? Questions do not depend on each other, so warps may ask several at a time: the first yes
// in the order of the candidates counts, and makes the questions after it void.
struct FirstSet {
    Node best;      // the sets among which the first open one is
    Mask witness;   // the members beyond best.taken of an open set of `best`; `end` is the smallest
    int next, end;  // questions below `next` have been asked
    int asked;      // questions that wait for their answers
    int failed;     // smallest candidate with a question that has no answer, or NEVER
    int left;       // nodes that may still be examined
    // The search also fails when no more than `spare` nodes are left and others could help: *idle > 0.
    int spare;
    const int* idle;
    int* lock;  // in shared memory; 1: a warp reads or changes this
};

// The smallest position in `set` that is not below `from`, or NEVER.
DEVICE int next_member(const Mask& set, const int from) {
    for (int i = from >> 5; i < WORDS; ++i) {
        const unsigned word = i == from >> 5 ? set.word[i] & (~0u << (from & 31)) : set.word[i];
        if (word) return 32 * i + lowest_bit(word);
    }
    return NEVER;
}

// Drops all positions up to k.
DEVICE void drop_up_to(Mask& set, const int k) {
    for (int i = 0; i < k >> 5; ++i) set.word[i] = 0;
    set.word[k >> 5] &= ~0u << (k & 31) << 1;
}

// Makes `set` the known open set. One lane.
DEVICE void witness(FirstSet& q, const Mask& set) {
    for (int i = 0; i < WORDS; ++i) q.witness.word[i] = set.word[i] & ~q.best.taken.word[i];
}

// Begins: `best` has been set, and `open` is an open set of it. One lane, under the lock.
DEVICE void begin_first(FirstSet& q, const Mask& open, const int left, const int* idle, const int spare) {
    witness(q, open);
    q.asked = 0;
    q.failed = NEVER;
    q.left = left;
    q.idle = idle;
    q.spare = spare;
    q.end = q.best.choose ? next_member(q.witness, 0) : 0;
    q.next = 0;
}

// Makes `node` the sets of `best` with candidate k and none below it. One lane.
DEVICE void question(const FirstSet& q, const int k, Node& node) {
    node = q.best;
    drop_up_to(node.kept, k);
    node.taken.add(k);
    --node.choose;
}

// Takes the next question: `node` becomes the sets that it asks about. Returns its candidate, or -1 if there is none to
// be asked now. One lane, under the lock.
DEVICE int take_question(FirstSet& q, Node& node) {
    const int k = q.failed < q.end ? NEVER : next_member(q.best.kept, q.next);
    if (k >= q.end) return -1;
    q.next = k + 1;
    ++q.asked;
    question(q, k, node);
    return k;
}

// Notes the answer about candidate k: OPEN, and then `set` is an open set, NONE or FAILED. One lane, under the lock.
DEVICE void answer(FirstSet& q, const int k, const Verdict verdict, const Mask& set) {
    if (verdict == OPEN && k < q.end) {
        q.end = k;
        witness(q, set);
    }
    if (verdict == FAILED && k < q.failed) q.failed = k;
    --q.asked;
}

// When all questions up to `end` have their answers: takes `end`. Returns whether best.taken has become the first open
// set. One lane, under the lock.
DEVICE bool take_end(FirstSet& q) {
    drop_up_to(q.best.kept, q.end);
    q.best.taken.add(q.end);
    --q.best.choose;
    q.next = q.end + 1;
    q.end = next_member(q.witness, q.next);
    q.failed = NEVER;
    return q.best.choose == 0;
}

// Whether some set of h.node, the question about candidate k, is open: OPEN (h.node.taken then is one), NONE (none
// is), or FAILED, also if the question is void or no nodes are left. stack: [DEPTH] nodes that wait.
template <int SLOTS>
DEVICE Verdict find(const Row& row, const Space& w, Examined& h, Node* stack, FirstSet& q, const int k) {
    for (int waiting = 0;;) {
        bool go_on = true;
        if (lane_id() == 0) go_on = now(q.end) >= k && atomicSub(&q.left, 1) > (now(*q.idle) > 0 ? q.spare : 0);
        if (!of_first_lane(go_on)) return FAILED;
        const Verdict verdict = examine<SLOTS>(row, w, h.node, h.other, {row.cutoff, nullptr});
        if (verdict == OPEN || verdict == FAILED) return verdict;
        if (verdict == DIVIDED_IN_TWO) {
            if (waiting == DEPTH) return FAILED;
            if (lane_id() == 0) stack[waiting] = h.other;
            ++waiting;
        } else if (verdict == NONE) {
            if (waiting == 0) return NONE;
            --waiting;
            if (lane_id() == 0) h.node = stack[waiting];
        }
        __syncwarp();
    }
}
