// pairs.cu -- prove_pairs: decides ordered pairs of a level by a search, without enumerating their conditioning sets. A
//   pair is certified (no set separates it), separated (by its first separating set), or left to the tests.
#include "common/warp.cuh"
#include "pruning/search.cuh"

constexpr int TARGETS = 32;  // ordered pairs of a row per work item, at most
constexpr int STACK = 2048;  // most nodes that wait, per block; also in pycupc/engines/gpu/pruning.py
constexpr int NODE_DOUBLES = 13;
constexpr int QUEST_DOUBLES = 22;
static_assert(sizeof(Node) == 8 * NODE_DOUBLES && sizeof(Quest) == 8 * QUEST_DOUBLES);

// State of a target. LEFT: to the tests. What is UNDECIDED when no node is left is certified.
constexpr int UNDECIDED = 0, LEFT = 1, SEPARATED = 2;

// The block's present work item, in shared memory. there: whether there is one.
struct Work {
    int row, d, first, count, there;    // the row, its degree; positions of the targets: first .. first + count - 1
    int next, waiting, busy, lock;      // next target; nodes on the stack; warps with a node in hand; 1: locked
    int most;                           // most nodes per target
    int quests;                         // bit w: warp w searches for a first separating set, which others may join
    int used[TARGETS], state[TARGETS];  // nodes examined; UNDECIDED, LEFT or SEPARATED
    u64 rank[TARGETS], tests[TARGETS];  // rank of the first separating set; pcalg's tests up to it
    u64 smallest[TARGETS];              // bits of the smallest r^2 known
};

// Takes the next work item: a row of this launch, and some of its neighbours. Sets work.there to 0 if there is none, if
// the stop flag is set, or if the search does not pay. One thread.
DEVICE void next_targets(const Graph& g, const Level& lv, const Filter& f, const int low, const int high,
                         const int launch, Work& work) {
    const u64 chunks = (u64)((high + TARGETS - 1) / TARGETS), items = chunks * (u64)g.p;
    Counters& total = *lv.counters;
    work.there = 0;
    for (;;) {
        const u64 item = atomicAdd(&total.turns[launch], 1ULL);
        const double bounds = (double)*(volatile u64*)&total.bounds;
        if (item >= items || *lv.stop) return;
        if (!f.minimum && bounds > f.trial && *(volatile double*)&total.worth < bounds * f.sets_per_node) return;
        const int x = (int)(item / chunks), first = (int)(item % chunks) * TARGETS;
        const int d = (int)(g.start[x + 1] - g.start[x]);
        if (d <= low || d > high || first >= d || !(f.margin[x] > 0.0)) continue;
        const double sets = (double)lv.binom(d - 1, lv.level);
        work.row = x;
        work.d = d;
        work.first = first;
        work.count = min(TARGETS, d - first);
        work.next = work.waiting = work.busy = work.lock = work.quests = 0;
        work.most = (int)fmax(16.0, fmin((double)f.most_nodes, 16.0 * sets / f.sets_per_node));
        work.there = 1;
        return;
    }
}

// Makes `node` stand for all conditioning sets of a pair. One thread.
DEVICE void root(const Work& work, const int target, const int level, Node& node) {
    for (int i = 0; i < WORDS; ++i) {
        const int left = work.d - 32 * i;
        node.kept.word[i] = left >= 32 ? FULL : (left > 0 ? (1u << left) - 1 : 0);
        node.taken.word[i] = 0;
    }
    node.target = target;
    node.choose = level;
    node.kept.word[target >> 5] &= ~(1u << (target & 31));
}

DEVICE void lock(int& v) {
    while (atomicCAS(&v, 0, 1) != 0) __nanosleep(20);
    __threadfence_block();
}

DEVICE void unlock(int& v) {
    __threadfence_block();
    atomicExch(&v, 0);
}

// Takes a node for the warp of this thread: one that waits, or else that of the next target. Returns 1: taken; 0:
// nothing is left; -1: ask again, since a busy warp may still put nodes on the stack. One thread of a warp.
DEVICE int take_node(Work& work, const Node* stack, const int level, Node& node) {
    if (now(work.waiting) == 0 && now(work.next) >= work.count) {
        if (now(work.busy) > 0) return -1;  // without taking the lock, which warps with work need
    }
    int got = 1;
    lock(work.lock);
    if (now(work.waiting) > 0) {
        node = stack[now(work.waiting) - 1];
        atomicSub(&work.waiting, 1);
    } else if (now(work.next) < work.count) {
        const int t = atomicAdd(&work.next, 1);
        if (now(work.state[t]) != UNDECIDED) got = -1;  // this pair is not tested at this level
        else root(work, work.first + t, level, node);
    } else got = now(work.busy) > 0 ? -1 : 0;
    if (got > 0) atomicAdd(&work.busy, 1);
    unlock(work.lock);
    return got;
}

// Puts a node on the stack; false if that is full. One thread.
DEVICE bool put_node(Work& work, Node* stack, const Node& node) {
    lock(work.lock);
    const int at = now(work.waiting);
    if (at < STACK) {
        stack[at] = node;
        atomicAdd(&work.waiting, 1);
    }
    unlock(work.lock);
    return at < STACK;
}

// Asks the next question of a quest, and notes the answer. Returns false if there is no question to be asked now. One
// warp.
template <int SLOTS>
TEAM_CALL bool ask(const RowBound& row, const Bench& bench, Node* own, Hand& h, Quest& q) {
    int k = -1;
    if (team_lane() == 0) {
        lock(q.lock);
        k = take_question(q, h.node);
        unlock(q.lock);
    }
    k = __shfl_sync(FULL, k, 0);
    if (k < 0) return false;
    team_sync();
    const Verdict verdict = find_any<SLOTS>(row, bench, h, own, q, k);
    if (team_lane() == 0) {
        lock(q.lock);
        answer(q, k, verdict, h.node.taken);
        unlock(q.lock);
    }
    team_sync();
    return true;
}

// Asks a question of a quest of another warp, if there is one to be asked. One warp.
template <int SLOTS>
DEVICE bool help(const Work& work, const RowBound& row, const Bench& bench, Node* own, Hand& h, Quest* quests) {
    unsigned open = 0;
    if (team_lane() == 0) open = (unsigned)now(work.quests);
    for (open = __shfl_sync(FULL, open, 0); open; open &= open - 1)
        if (ask<SLOTS>(row, bench, own, h, quests[lowest_bit(open)])) return true;
    return false;
}

// Looks for the first separating set of target t, for which h.node.taken is an open set. Makes t SEPARATED if the first
// open set surely separates it. One warp, and no other for the same t; waiting warps help.
template <int SLOTS>
DEVICE void separate(const Level& lv, Work& work, const RowBound& row, const Bench& bench, Node* own, Hand& h, Quest& q,
                     const int t, const int most_questions) {
    const int most = min(work.most, most_questions), warp = (int)threadIdx.x >> 5;
    if (team_lane() == 0) {
        root(work, work.first + t, lv.level, q.best);
        begin_quest(q, h.node.taken, most);
        __threadfence_block();
        atomicOr(&work.quests, 1 << warp);
    }
    team_sync();
    int state = 0;  // 1: the first open set is known; -1: it is not found
    while (state == 0) {
        while (!*lv.stop && ask<SLOTS>(row, bench, own, h, q)) {}
        if (team_lane() == 0) {
            while (now(q.asked) > 0) __nanosleep(100);
            lock(q.lock);
            if (q.failed < q.end) state = -1;
            else state = take_end(q);
            if (*lv.stop) state = -1;
            if (state) q.next = q.end = 0;  // no more questions
            unlock(q.lock);
        }
        state = __shfl_sync(FULL, state, 0);
    }
    team_sync();
    if (team_lane() == 0) {
        atomicAnd(&work.quests, ~(1 << warp));
        atomicAdd(&work.used[t], most - q.left);
    }
    if (state < 0) return;
    if (!surely_below(row, bench, q.best, sqrt(lv.sure_in))) return;  // doubtful: left to the tests
    if (team_lane() == 0) {
        const int d = row.d, l = lv.level, y = work.first + t;
        u64 rank = lv.binom(d, l) - 1, tests = lv.binom(d - 1, l);
        for (int k = 0, i = 0; k < d; ++k)
            if (q.best.taken.has(k)) {
                rank -= lv.binom(d - 1 - k, l - i);
                tests -= lv.binom(d - 2 - (k - (k > y)), l - i);
                ++i;
            }
        work.rank[t] = rank;
        work.tests[t] = tests;
        atomicExch(&work.state[t], SEPARATED);  // warps read it at any time
    }
    team_sync();
}

// Examines h.node, then its first child, and so on until nothing is left. Second children wait on the stack. One warp.
template <int SLOTS>
DEVICE void follow(const Level& lv, const Filter& f, Work& work, const RowBound& row, const Bench& bench, Node* stack,
                   Node* own, Hand& h, Quest& q) {
    const int t = h.node.target - work.first, lane = team_lane();
    for (;;) {
        int stop = 0;
        if (lane == 0) {
            stop = now(work.state[t]) != UNDECIDED;
            if (!stop && atomicAdd(&work.used[t], 1) >= work.most) {
                atomicCAS(&work.state[t], UNDECIDED, LEFT);
                stop = 1;
            }
        }
        if (__shfl_sync(FULL, stop, 0)) return;
        const Aim aim = f.minimum ? Aim{sqrt(now(work.smallest[t])), &work.smallest[t]} : Aim{row.cutoff, nullptr};
        const Verdict verdict = examine<SLOTS>(row, bench, h.node, h.other, aim);
        if (verdict == PROVEN) return;
        if (verdict == SPLIT || verdict == SPLIT_IN_TWO) {
            if (verdict == SPLIT_IN_TWO && lane == 0 && !put_node(work, stack, h.other))
                atomicCAS(&work.state[t], UNDECIDED, LEFT);
            __syncwarp();
            continue;
        }
        int first = 0;
        if (lane == 0) first = atomicCAS(&work.state[t], UNDECIDED, LEFT) == UNDECIDED;
        if (__shfl_sync(FULL, first, 0) && verdict == OPEN)
            separate<SLOTS>(lv, work, row, bench, own, h, q, t, f.most_questions);
        return;
    }
}

// Writes what became of the targets of an item. Whole block; the first warp does the work.
DEVICE void settle_targets(const Graph& g, const Level& lv, const Filter& f, Work& work) {
    const int x = work.row;
    for (int t = threadIdx.x; t < TARGETS; t += blockDim.x) {
        const bool in = t < work.count;
        const i64 e = g.start[x] + work.first + t;
        const int y = in ? g.column[e] : 0, state = in && !*lv.stop ? work.state[t] : LEFT;
        const int decided = __popc(__ballot_sync(FULL, state != LEFT)), nodes = sum_over_warp(in ? work.used[t] : 0);
        if (in && f.minimum) g.least[e] = work.smallest[t];
        if (state == UNDECIDED) f.rank[e] = NOT_SEPARATED;
        if (state == SEPARATED) f.rank[e] = work.rank[t];
        if (state != LEFT) f.spares[e] = state == SEPARATED ? work.tests[t] : lv.binom(work.d - 1, lv.level);
        if (state == SEPARATED && x < y) g.G[(i64)x * g.p + y] = g.G[(i64)y * g.p + x] = GONE_A;
        if (state != LEFT) {
            f.decided[e] = 1;
            g.best[e] = 0;
        }
        if (t == 0) {
            atomicAdd(&lv.counters->bounds, (u64)nodes);
            atomicAdd(&lv.counters->decided, (u64)decided);
            atomicAdd(&lv.counters->worth, (double)decided * (double)lv.binom(work.d - 1, lv.level));
        }
    }
}

// Decides pairs of the rows with low < degree <= high. With f.minimum it finds, for pairs that no set separates, the
// smallest r^2 of all tests that is below g.least, and decides the pairs for which that is certain.
//   Work    item = up to 32 neighbours of a row as targets, one block per item; a warp examines one node at a time, and
//           the warps of a block share a stack of nodes
//   Launch  persistent grid; block 256, or 512 from SLOTS = 5 on; dynamic shared memory as pairs_shared() in
//           pycupc/engines/gpu/pruning.py. `launch` numbers the launches of a level
//   Reads   g.C, g.G, g.start, g.column, lv.binom, f.delta, f.margin; g.least if f.minimum
//   Writes  g.best (0 for a decided pair, so that the tests leave it alone), g.G (GONE_A), f.decided, f.rank, f.spares,
//           lv.counters->turns, ->bounds, ->decided, ->worth; g.least if f.minimum
//   f.work  per block: the stack [STACK] nodes; per warp a quest, then [DEPTH] nodes, then bench_doubles();
//           R [high + 1, high + 1]
//   words   of each number of R that lie in shared memory: 2, 1 (the high one), or 0
//   Template argument SLOTS: candidates per lane, so high <= 32 SLOTS.
template <int SLOTS>
__global__ void __launch_bounds__(SLOTS >= 5 ? 512 : 256, SLOTS >= 5 ? 1 : 2)
    prove_pairs(const Graph g, const Level lv, const Filter f, const int low, const int high, const int launch,
                const int words) {
    extern __shared__ double pair_memory[];
    __shared__ Work work;
    __shared__ Hand hands[16];
    __shared__ Held held[16];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    double* space = f.work + blockIdx.x * f.work_doubles;
    Node* stack = (Node*)space;
    space += STACK * NODE_DOUBLES;
    Quest* quests = (Quest*)space;  // not in shared memory, of which a check for races does not see the locks
    space += warps * QUEST_DOUBLES;
    Node* own = (Node*)space + warp * DEPTH;
    space += warps * DEPTH * NODE_DOUBLES;
    const int cells = (high + 1) * (high + 1);
    unsigned* const apart = (unsigned*)(space + warps * bench_doubles(high, lv.level));
    unsigned* const R_high = words >= 1 ? (unsigned*)pair_memory : apart;
    unsigned* const R_low = words == 2 ? R_high + cells : apart + cells;
    double* delta = pair_memory + (words * cells + 1) / 2;
    double* vectors = delta + high;
    unsigned short* lists = (unsigned short*)(vectors + warps * high);
    Bench bench;
    bench.held = held + warp;
    bench.p = vectors + warp * high;
    bench.list = lists + warp * (high + 2);
    bench.W = space + warp * bench_doubles(high, lv.level);
    const double cutoff = sqrt(lv.sure_out + 1e-12);

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) next_targets(g, lv, f, low, high, launch, work);
        __syncthreads();
        if (!work.there) break;
        const int x = work.row, d = work.d;
        const i64 e0 = g.start[x];
        for (int t = threadIdx.x; t < work.count; t += blockDim.x) {
            work.used[t] = 0;
            if (f.minimum) work.smallest[t] = g.least[e0 + work.first + t];
            work.state[t] = g.G[(i64)x * g.p + g.column[e0 + work.first + t]] == LIVE ? UNDECIDED : LEFT;
        }
        for (int i = warp; i <= d; i += warps) {
            const double* from = g.C + (i64)(i < d ? g.column[e0 + i] : x) * g.p;
            for (int j = lane; j <= d; j += 32) {
                const double r = from[j < d ? g.column[e0 + j] : x];
                R_high[i * (d + 1) + j] = (unsigned)__double2hiint(r);
                R_low[i * (d + 1) + j] = (unsigned)__double2loint(r);
            }
        }
        for (int k = threadIdx.x; k < d; k += blockDim.x) delta[k] = f.delta[e0 + k];
        if (lane == 0) held[warp].count = quests[warp].lock = 0;
        bench.v = bench.W + bench_doubles(high, lv.level) - (high + 1);
        bench.y = bench.v - (high + 1);
        bench.x = bench.y - (high + 1);
        const RowBound row = {{R_high, R_low}, delta, d, cutoff, f.margin[x]};
        __syncthreads();
        for (;;) {
            int got = 0;
            if (lane == 0) got = *lv.stop ? 0 : take_node(work, stack, lv.level, hands[warp].node);
            got = __shfl_sync(FULL, got, 0);
            __syncwarp();
            if (got == 0) break;
            if (got < 0) {
                if (!help<SLOTS>(work, row, bench, own, hands[warp], quests)) __nanosleep(500);
                continue;
            }
            follow<SLOTS>(lv, f, work, row, bench, stack, own, hands[warp], quests[warp]);
            __syncwarp();
            if (lane == 0) atomicSub(&work.busy, 1);
        }
        __syncthreads();
        settle_targets(g, lv, f, work);
    }
}
