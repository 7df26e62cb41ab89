// separate.cuh -- finds the first separating set of a target with all warps of a block, and with other blocks where that
//   takes long.
#pragma once
#include "pruning/exchange.cuh"

// The parameters of the launch that the search needs.
struct Launch {
    const Graph& g;
    const Level& lv;
    const Pruning& f;
    Exchange& exchange;
    Work& work;
};

// Asks the next question, and notes the answer. Returns false if there is none to be asked now. One warp.
template <int SLOTS>
OUT_OF_LINE bool ask(const Row& row, const Space& w, Node* own, Examined& h, FirstSet& q) {
    int k = -1;
    if (lane_id() == 0 && now(q.next) < now(q.end)) {  // else without taking the lock, which warps with answers need
        lock(*q.lock);
        k = take_question(q, h.node);
        unlock(*q.lock);
    }
    k = __shfl_sync(FULL, k, 0);
    if (k < 0) return false;
    __syncwarp();
    const Verdict verdict = find<SLOTS>(row, w, h, own, q, k);
    if (lane_id() == 0) {
        lock(*q.lock);
        answer(q, k, verdict, h.node.taken);
        unlock(*q.lock);
    }
    __syncwarp();
    return true;
}

// Asks a question for another warp that searches, if there is one to be asked. One warp.
template <int SLOTS>
DEVICE bool help(const Work& work, const Row& row, const Space& w, Node* own, Examined& h, FirstSet* firsts) {
    unsigned open = 0;
    if (lane_id() == 0) open = (unsigned)now(work.firsts);
    for (open = __shfl_sync(FULL, open, 0); open; open &= open - 1)
        if (ask<SLOTS>(row, w, own, h, firsts[lowest_bit(open)])) return true;
    return false;
}

// Gives away the questions that have no answer, up to that about the known open set. Returns false if that
// is not possible. One thread.
DEVICE bool give_questions(const Launch& at, const FirstSet& q, const int t, Node& node) {
    Work& work = at.work;
    const i64 pair = work.pair + t;
    if (!work.sharable) return false;
    atomicOr(&work.given, 1u << t);
    node = q.best;
    for (int i = 0; i < WORDS; ++i) node.taken.word[i] |= q.witness.word[i];
    atomicMin(&at.f.rank[pair], key_of(rank_of(at.lv.binom, work.d, at.lv.level, node.taken), true));
    for (int k = next_member(q.best.kept, min(q.failed, q.end)); k <= q.end; k = next_member(q.best.kept, k + 1)) {
        question(q, k, node);
        if (!give(at.exchange, work.row, pair, node, 1)) return false;
    }
    return true;
}

// Looks for the first separating set of target t, for which h.node.taken is an open set; in a part that was asked, for
// the first of its sets. Makes t SEPARATED if the first open set is found, ELSEWHERE if other blocks go on. One warp,
// and no other for the same t; waiting warps help.
template <int SLOTS>
OUT_OF_LINE void separate(const Launch& at, const Row& row, const Space& w, Node* own, Examined& h, FirstSet& q,
                          const int t) {
    Work& work = at.work;
    const Level& lv = at.lv;
    const int most = min(work.most, at.f.most_questions), warp = (int)threadIdx.x >> 5;
    if (lane_id() == 0) {
        lock(*q.lock);  // a warp may still look for a question of this warp's search before
        if (work.asked()) q.best = work.part.node;
        else root(work.d, work.first + t, lv.level, q.best);
        begin_first(q, h.node.taken, most, &at.exchange.idle, work.sharable ? max(most - at.f.few_nodes, 0) : 0);
        unlock(*q.lock);
        atomicOr(&work.firsts, 1 << warp);
    }
    __syncwarp();
    int state = q.best.choose == 0;  // 1: the first open set is known; -1: it is not found
    __syncwarp();                    // all lanes have read `best`, which one changes
    while (state == 0) {
        while (of_first_lane(!*lv.stop) && ask<SLOTS>(row, w, own, h, q)) {}
        if (lane_id() == 0) {
            while (now(q.asked) > 0) __nanosleep(100);
            lock(*q.lock);
            if (q.failed < q.end) state = -1;
            else state = take_end(q);
            if (*lv.stop) state = -1;
            if (state < 0) q.next = NEVER;
            if (state > 0) q.next = q.end = 0;  // no more questions
            unlock(*q.lock);
        }
        state = __shfl_sync(FULL, state, 0);
    }
    __syncwarp();
    if (lane_id() == 0) {
        atomicAnd(&work.firsts, ~(1 << warp));
        atomicAdd(&work.used[t], most - q.left);
        if (state < 0 && !*lv.stop && give_questions(at, q, t, h.node)) atomicExch(&work.state[t], ELSEWHERE);
    }
    if (state < 0) return;
    const bool sure = surely_below(row, w, q.best, sqrt(lv.sure_in));
    if (lane_id() == 0) {
        work.key[t] = key_of(rank_of(lv.binom, row.d, lv.level, q.best.taken), !sure);
        atomicExch(&work.state[t], SEPARATED);  // warps read it at any time
    }
    __syncwarp();
}
