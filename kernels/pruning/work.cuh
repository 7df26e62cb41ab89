// work.cuh -- the work of a block of search_pairs: some targets of a row, with the nodes that wait for a warp, or a
//   part of a pair that another block gave away.
#pragma once
#include "common/warp.cuh"
#include "pruning/first.cuh"

constexpr int TARGETS = 32;  // ordered pairs of a row per work item, at most
// most nodes that wait, per block; also in pycupc/engines/gpu/pruning/device_branch_and_bound.py
constexpr int STACK = 2048;

// State of a target. LEFT: to the tests. ELSEWHERE: other blocks search for its first set. A target that is UNDECIDED
// when no node is left, here or elsewhere, is dismissed.
constexpr int UNDECIDED = 0, LEFT = 1, SEPARATED = 2, ELSEWHERE = 3;

// A node that a block has given away. asked: whether it is a question about the first separating set, or belongs to one
struct Part {
    Node node;
    i64 pair;  // e
    int row, asked;
};

// The block's present work item, in shared memory. there: whether there is one.
struct Work {
    int row, d, first, count, there;    // the row, its degree; positions of the targets: first .. first + count - 1
    int next, waiting, busy, lock;      // next target; nodes that wait; warps with a node in hand; 1: locked
    int bottom;                         // the nodes that wait are stack[bottom .. bottom + waiting - 1]
    int most;                           // nodes of a target after which others are given away, or it is left
    int firsts;                         // bit w: warp w searches for a first separating set, which others may join
    int used[TARGETS], state[TARGETS];  // nodes examined; UNDECIDED, LEFT, SEPARATED or ELSEWHERE
    u64 key[TARGETS];                   // of the first separating set; see key_of
    u64 smallest[TARGETS];              // bits of the smallest r^2 known
    i64 pair;                           // e of the first target
    double allowed;                     // nodes per pair, all blocks together
    int sharable;                       // 1: nodes may be given away
    unsigned given;                     // bit t: nodes of target t have been given away
    int is_part;                        // 1: the item is `part`
    Mask set;                           // the first set of `part`
    u64 lowest;                         // its key
    Part part;

    // Whether the item is a question about the first separating set of its target, or belongs to one.
    DEVICE bool asked() const { return is_part && part.asked; }
    // Whether other blocks have parts of target t.
    DEVICE bool shared(const int t) const { return is_part || (now(given) >> t & 1); }
};

// Rank of a set of l of the row's d neighbours, or 0 for any set if they may not fit 64 bits. One thread.
OUT_OF_LINE u64 rank_of(const Binomials binom, const int d, const int l, const Mask& set) {
    if (binom(d, l) >= BINOM_MAX) return 0;
    u64 rank = binom(d, l) - 1;
    for (int k = 0, i = 0; k < d; ++k)
        if (set.has(k)) rank -= binom(d - 1 - k, l - i++);
    return rank;
}

// Orders open sets by rank. unsure: x and y are not surely independent given it.
DEVICE u64 key_of(const u64 rank, const bool unsure) { return 2 * rank + unsure; }

// Makes `node` stand for all conditioning sets of a pair. One thread.
DEVICE void root(const int d, const int target, const int level, Node& node) {
    for (int i = 0; i < WORDS; ++i) {
        const int left = d - 32 * i;
        node.kept.word[i] = left >= 32 ? FULL : (left > 0 ? (1u << left) - 1 : 0);
        node.taken.word[i] = 0;
    }
    node.target = target;
    node.choose = level;
    node.kept.word[target >> 5] &= ~(1u << (target & 31));
}

// Makes `set` the first set of a node. One thread.
DEVICE void first_set(const Node& node, Mask& set) {
    set = node.taken;
    for (int i = 0, k = next_member(node.kept, 0); i < node.choose && k < NEVER; ++i, k = next_member(node.kept, k + 1))
        set.add(k);
}

DEVICE void lock(int& v) {
    while (atomicCAS(&v, 0, 1) != 0) __nanosleep(20);
    __threadfence_block();
}

DEVICE void unlock(int& v) {
    __threadfence_block();
    atomicExch(&v, 0);
}

// Takes a node for the warp of this thread: one that waits, or else the node of the next target. Returns 1: taken; 0:
// nothing is left; -1: ask again, since a busy warp may still put nodes on the stack. One thread of a warp.
DEVICE int take_node(Work& work, const Node* stack, const int level, Node& node) {
    if (now(work.waiting) == 0 && now(work.next) >= work.count) {
        if (now(work.busy) > 0) return -1;  // without taking the lock, which warps with work need
    }
    int got = 1;
    lock(work.lock);
    if (now(work.waiting) > 0) {
        node = stack[now(work.bottom) + atomicSub(&work.waiting, 1) - 1];
    } else if (now(work.next) < work.count) {
        const int t = atomicAdd(&work.next, 1);
        if (now(work.state[t]) != UNDECIDED) got = -1;  // this pair is not tested at this level
        else if (work.is_part) node = work.part.node;
        else root(work.d, work.first + t, level, node);
    } else got = now(work.busy) > 0 ? -1 : 0;
    if (got > 0) atomicAdd(&work.busy, 1);
    unlock(work.lock);
    return got;
}

// Puts a node on the stack; false if that is full. One thread.
DEVICE bool put_node(Work& work, Node* stack, const Node& node) {
    lock(work.lock);
    if (now(work.waiting) == 0) atomicExch(&work.bottom, 0);
    const int at = now(work.bottom) + now(work.waiting);
    if (at < STACK) {
        stack[at] = node;
        atomicAdd(&work.waiting, 1);
    }
    unlock(work.lock);
    return at < STACK;
}
