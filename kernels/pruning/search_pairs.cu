// search_pairs.cu -- search_pairs: decides ordered pairs of a level by a search, without enumerating their
//   conditioning sets. A pair is dismissed (no set separates it), separated (by its first separating set), or left to
//   the tests.
#include "pruning/separate.cuh"

constexpr int NODE_DOUBLES = 13;
constexpr int FIRST_DOUBLES = 24;
static_assert(sizeof(Node) == 8 * NODE_DOUBLES && sizeof(FirstSet) == 8 * FIRST_DOUBLES);
static_assert(sizeof(Part) == sizeof(Node) + 16 && sizeof(Exchange) == 24 + PARTS * (8 + sizeof(Part)));

// Begins the work item of row x whose targets are known. One thread.
DEVICE void begin(const Graph& g, const Level& lv, const Pruning& f, const int x, Work& work) {
    work.row = x;
    work.d = (int)(g.start[x + 1] - g.start[x]);
    work.pair = g.start[x] + work.first;
    work.next = work.waiting = work.busy = work.lock = work.bottom = work.firsts = 0;
    // Nodes that take as long as the tests of one pair. The search decides most pairs of a row; a set is then tested for
    // one pair, not for all, and a test takes 16 times as long.
    const double worth = 16.0 * (double)lv.binom(work.d - 1, lv.level) / f.sets_per_node;
    work.allowed = 4.0 * worth;
    work.most = (int)fmin((double)f.most_nodes, fmax(16.0, 16.0 * worth));
    // For the minimum nothing is shared: a block does not see the smaller r^2 that others find.
    work.sharable = !f.minimum && worth > 4.0;
    work.given = 0;
    work.there = 1;
}

// Takes the next work item: a row of this launch, and some of its neighbours. Sets work.there to 0 if there is none, if
// the stop flag is set, or if the search does not pay. One thread.
DEVICE void next_targets(const Graph& g, const Level& lv, const Pruning& f, const int low, const int high,
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
        work.first = first;
        work.count = min(TARGETS, d - first);
        work.is_part = 0;
        begin(g, lv, f, x, work);
        return;
    }
}

// Takes a part that another block has given away, when there are no more rows. One thread.
DEVICE void next_part(const Graph& g, const Level& lv, const Pruning& f, Exchange& ex, Work& work) {
    if (!take_part(ex, lv.stop, work.part)) return;
    work.first = work.part.node.target;
    work.count = work.is_part = 1;
    begin(g, lv, f, work.part.row, work);
    first_set(work.part.node, work.set);
    work.lowest = key_of(rank_of(lv.binom, work.d, lv.level, work.set), false);
}

// Gives away a node of this item for another block to examine: all sets of a target that nobody has begun, or else the
// node that has waited longest. `node` is work space. One thread.
DEVICE void offer(const Launch& at, Node* stack, Node& node) {
    Work& work = at.work;
    lock(work.lock);
    if (in_demand(at.exchange)) {
        const int next = now(work.next), waiting = now(work.waiting);
        if (next < work.count) {
            if (now(work.state[next]) == UNDECIDED) {
                root(work.d, work.first + next, at.lv.level, node);
                if (give(at.exchange, work.row, work.pair + next, node, 0)) {
                    atomicOr(&work.given, 1u << next);
                    atomicAdd(&work.next, 1);
                }
            } else atomicAdd(&work.next, 1);
        } else if (waiting > 0) {
            const Node& oldest = stack[now(work.bottom)];
            const int t = oldest.target - work.first;
            if (oldest.choose > 3 && give(at.exchange, work.row, work.pair + t, oldest, work.asked())) {
                atomicOr(&work.given, 1u << t);
                atomicAdd(&work.bottom, 1);
                atomicSub(&work.waiting, 1);
            }
        }
    }
    unlock(work.lock);
}

// Whether a node of target t is to be examined here and now; if not, it is not wanted, or another block gets it. One
// thread.
DEVICE bool wanted(const Launch& at, const int t, const Node& node) {
    Work& work = at.work;
    if (now(work.state[t]) != UNDECIDED) return false;
    if (work.shared(t) && unwanted(at.f, work, work.pair + t)) return false;
    const int n = atomicAdd(&work.used[t], 1);
    if (!work.sharable) {
        if (n < work.most) return true;
    } else {
        if (n >= work.most && node.choose > 3 && give(at.exchange, work.row, work.pair + t, node, work.asked())) {
            atomicOr(&work.given, 1u << t);
            return false;
        }
        if ((double)n <= work.allowed) return true;
    }
    atomicCAS(&work.state[t], UNDECIDED, LEFT);
    return false;
}

// Whether this warp is to find the first separating set of target t, of which an open set is known. One thread.
DEVICE bool first_to_find(const Launch& at, const int t) {
    Work& work = at.work;
    if (atomicCAS(&work.state[t], UNDECIDED, LEFT) != UNDECIDED) return false;
    if (work.asked()) return true;
    if (!(atomicOr(&at.f.spares[work.pair + t], OPENED) & OPENED)) return true;
    atomicExch(&work.state[t], ELSEWHERE);
    return false;
}

// Examines h.node, then its first child, and so on until nothing is left. Second children wait on the stack. One warp.
template <int SLOTS>
DEVICE void follow(const Launch& at, const Row& row, const Space& w, Node* stack, Node* own, Examined& h, FirstSet& q) {
    Work& work = at.work;
    const int t = h.node.target - work.first, lane = lane_id();
    for (;;) {
        int go_on = 0;
        if (lane == 0) {
            go_on = wanted(at, t, h.node);
            if (work.sharable && in_demand(at.exchange)) offer(at, stack, h.other);
        }
        if (!__shfl_sync(FULL, go_on, 0)) return;
        Threshold threshold = {row.cutoff, nullptr};
        if (at.f.minimum) {  // read by one lane: other warps lower it, and lanes that differ would wait for ever
            if (lane == 0) threshold.cutoff = sqrt(from_bits(now(work.smallest[t])));
            threshold = {__shfl_sync(FULL, threshold.cutoff, 0), &work.smallest[t]};
        }
        const Verdict verdict = examine<SLOTS>(row, w, h.node, h.other, threshold);
        if (verdict == NONE) return;
        if (verdict == DIVIDED || verdict == DIVIDED_IN_TWO) {
            if (verdict == DIVIDED_IN_TWO && lane == 0 && !put_node(work, stack, h.other))
                atomicCAS(&work.state[t], UNDECIDED, LEFT);
            __syncwarp();
            continue;
        }
        int first = 0;
        if (lane == 0) {
            if (verdict == OPEN) first = first_to_find(at, t);
            else atomicCAS(&work.state[t], UNDECIDED, LEFT);
        }
        if (__shfl_sync(FULL, first, 0)) separate<SLOTS>(at, row, w, own, h, q, t);
        return;
    }
}

// Notes the outcome of a pair that several blocks work on. One thread.
DEVICE void settle_part(const Launch& at, const int t, const int state) {
    const i64 pair = at.work.pair + t;
    if (state == SEPARATED) atomicMin(&at.f.rank[pair], at.work.key[t]);
    if (state == LEFT) atomicOr(&at.f.spares[pair], GIVEN_UP);
    atomicAdd(&at.f.spares[pair], (u64)at.work.used[t]);
    if (!at.work.is_part) at.f.decided[pair] = SHARED;
}

// Writes the outcomes of the targets of an item. Whole block; the first warp does the work.
DEVICE void settle_targets(const Launch& at) {
    const Graph& g = at.g;
    const Level& lv = at.lv;
    const Pruning& f = at.f;
    Work& work = at.work;
    const int x = work.row;
    for (int t = threadIdx.x; t < TARGETS; t += blockDim.x) {
        const bool in = t < work.count, shared = in && work.shared(t);
        const i64 e = work.pair + t;
        const int y = in ? g.column[e] : 0;
        int state = in && !*lv.stop ? work.state[t] : LEFT;
        if (in && f.minimum) atomicMin((u64*)&g.least[e], work.smallest[t]);
        if (shared) settle_part(at, t, state);
        if (shared || (state == SEPARATED && work.key[t] & 1)) state = LEFT;  // doubtful: left to the tests
        const int decided = __popc(__ballot_sync(FULL, state != LEFT)), nodes = sum_over_warp(in ? work.used[t] : 0);
        const u64 sets = lv.binom(work.d - 1, lv.level);
        if (state == UNDECIDED) f.rank[e] = NOT_SEPARATED;
        if (state == SEPARATED) f.rank[e] = work.key[t] >> 1;
        if (state != LEFT) {
            f.spares[e] =
                state == SEPARATED ? tests_up_to(lv.binom, work.d, lv.level, work.first + t, f.rank[e]) : sets;
            f.decided[e] = 1;
            g.best[e] = 0;
        }
        if (state == SEPARATED && x < y) remove_everywhere(g, e, x, y);
        if (t == 0) {
            atomicAdd(&lv.counters->bounds, (u64)nodes);
            atomicAdd(&lv.counters->decided, (u64)decided);
            atomicAdd(&lv.counters->worth, (double)decided * (double)sets);
        }
    }
}

// Decides pairs of the rows with low < degree <= high. With f.minimum it finds, for pairs that no set separates, the
// smallest r^2 of all tests that is below g.least, and decides the pairs for which that is certain.
//   Work    item = up to 32 neighbours of a row as targets, then parts of pairs, one block per item; a warp examines
//           one node at a time, and the warps of a block share a stack of nodes
//   Launch  persistent grid; block 256, or 512 from SLOTS = 5 on; dynamic shared memory as pairs_shared() in
//           pycupc/engines/gpu/pruning/device_branch_and_bound.py. `launch` numbers the launches of a level
//   Reads   g.C, g.G, g.start, g.column, lv.binom, f.delta, f.margin; g.least if f.minimum
//   Writes  g.best (0 for a decided pair, so that the tests leave it alone), g.G (GONE_A), f.decided (also SHARED, see
//           settle_shared), f.rank, f.spares, lv.counters->turns, ->bounds, ->decided, ->worth; g.least if f.minimum
//   f.work  per block: the stack [STACK] nodes; per warp a FirstSet, then [DEPTH] nodes, then space_doubles();
//           R [high + 1, high + 1]
//   words   of each number of R that lie in shared memory: 2, 1 (the high one), or 0
//   Template argument SLOTS: candidates per lane, so high <= 32 SLOTS.
template <int SLOTS>
__global__ void __launch_bounds__(SLOTS >= 5 ? 512 : 256, SLOTS >= 5 ? 1 : 2)
    search_pairs(const Graph g, const Level lv, const Pruning f, const int low, const int high, const int launch,
                 const int words) {
    extern __shared__ double pair_memory[];
    __shared__ Work work;
    __shared__ Examined examined[16];
    __shared__ Factor factor[16];
    __shared__ int locks[16];  // of `firsts`
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    double* space = f.work + blockIdx.x * f.work_doubles;
    Node* stack = (Node*)space;
    space += STACK * NODE_DOUBLES;
    // Not in shared memory, of which a check for races does not see the locks. The locks themselves are: beside their data,
    // warps that waited for a lock kept its holder from the data for seconds (H100).
    FirstSet* firsts = (FirstSet*)space;
    space += warps * FIRST_DOUBLES;
    Node* own = (Node*)space + warp * DEPTH;
    space += warps * DEPTH * NODE_DOUBLES;
    const int cells = (high + 1) * (high + 1);
    unsigned* const apart = (unsigned*)(space + warps * space_doubles(high, lv.level));
    unsigned* const R_high = words >= 1 ? (unsigned*)pair_memory : apart;
    unsigned* const R_low = words == 2 ? R_high + cells : apart + cells;
    double* delta = pair_memory + (words * cells + 1) / 2;
    double* vectors = delta + high;
    unsigned short* lists = (unsigned short*)(vectors + warps * high);
    Space w;
    w.factor = factor + warp;
    w.p = vectors + warp * high;
    w.list = lists + warp * (high + 2);
    w.W = space + warp * space_doubles(high, lv.level);
    const double cutoff = sqrt(lv.sure_out + 1e-12);
    Exchange& exchange = *(Exchange*)f.exchange;
    const Launch at = {g, lv, f, exchange, work};

    if (threadIdx.x == 0) atomicAdd(&exchange.working, 1);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            next_targets(g, lv, f, low, high, launch, work);
            if (!work.there) next_part(g, lv, f, exchange, work);
        }
        __syncthreads();
        if (!work.there) break;
        const int x = work.row, d = work.d;
        const i64 e0 = g.start[x];
        for (int t = threadIdx.x; t < work.count; t += blockDim.x) {
            const i64 pair = work.pair + t;
            work.used[t] = 0;
            if (f.minimum) work.smallest[t] = now(((u64*)g.least)[pair]);
            work.state[t] = work.is_part || state_of(g, pair, x, g.column[pair]) == LIVE ? UNDECIDED : LEFT;
            if (work.is_part) continue;
            f.rank[pair] = NOT_SEPARATED;
            f.spares[pair] = 0;
        }
        for (int i = warp; i <= d; i += warps) {
            const int at = i < d ? place_of_pair(g, e0 + i) : place_of_row(g, x);
            const double* from = matrix_of(g, x) + at * pitch_of(g, x);
            for (int j = lane; j <= d; j += 32) {
                const double r = from[j < d ? place_of_pair(g, e0 + j) : place_of_row(g, x)];
                R_high[i * (d + 1) + j] = (unsigned)__double2hiint(r);
                R_low[i * (d + 1) + j] = (unsigned)__double2loint(r);
            }
        }
        for (int k = threadIdx.x; k < d; k += blockDim.x) delta[k] = f.delta[e0 + k];
        if (lane == 0) {
            factor[warp].count = locks[warp] = 0;
            firsts[warp].lock = locks + warp;
        }
        w.v = w.W + space_doubles(high, lv.level) - (high + 1);
        w.y = w.v - (high + 1);
        w.x = w.y - (high + 1);
        const Row row = {{R_high, R_low}, delta, d, cutoff, f.margin[x]};
        __syncthreads();
        for (;;) {
            int got = 0;
            if (lane == 0) got = *lv.stop ? 0 : take_node(work, stack, lv.level, examined[warp].node);
            got = __shfl_sync(FULL, got, 0);
            __syncwarp();
            if (got == 0) break;
            if (got < 0) {
                if (!help<SLOTS>(work, row, w, own, examined[warp], firsts)) __nanosleep(500);
                continue;
            }
            follow<SLOTS>(at, row, w, stack, own, examined[warp], firsts[warp]);
            __syncwarp();
            if (lane == 0) atomicSub(&work.busy, 1);
        }
        __syncthreads();
        settle_targets(at);
    }
}
