// pairs.cu -- prove_pairs: certifies ordered pairs that no conditioning set of the level separates; lift: afterwards.
#include "common/warp.cuh"
#include "pruning/examine.cuh"

constexpr int TARGETS = 32;  // ordered pairs of a row in a work item
constexpr int STACK = 512;   // nodes that wait, per block; also in pycupc/engines/gpu/pruning.py
constexpr int NODE_DOUBLES = 9;
static_assert(sizeof(Node) == 8 * NODE_DOUBLES);
constexpr int MOST_NODES = 4096;  // per pair
constexpr u64 TRIAL = 20000;      // nodes after which the filter must have paid

// The block's present work, in shared memory.
struct Work {
    int row, d, first, count, there;  // the row, its degree; positions of the targets: first .. first + count - 1
    int next, waiting, busy, lock;    // next target; nodes on the stack; nodes that warps have in hand
    int most, nodes;                  // nodes per target; examined in all
    int used[TARGETS], open[TARGETS];
};

DEVICE int now(const int& v) { return *(const volatile int*)&v; }

// The next work item: a row of this launch, and some of its targets. One thread.
DEVICE void next_targets(const Graph& g, const Level& lv, const Filter& f, const int low, const int high,
                         const int launch, Work& work) {
    const u64 chunks = (u64)((high + TARGETS - 1) / TARGETS), items = chunks * (u64)g.p;
    Counters& total = *lv.counters;
    work.there = 0;
    for (;;) {
        const u64 item = atomicAdd(&total.turns[launch], 1ULL);
        const u64 bounds = *(volatile u64*)&total.bounds;
        if (item >= items || *lv.stop) return;
        if (bounds > TRIAL && *(volatile double*)&total.worth < (double)bounds * f.sets_per_node) return;
        const int x = (int)(item / chunks), first = (int)(item % chunks) * TARGETS;
        const int d = (int)(g.start[x + 1] - g.start[x]);
        if (d <= low || d > high || first >= d || !(f.margin[x] > 0.0)) continue;
        const double sets = (double)lv.binom(d - 1, lv.level);
        work.row = x;
        work.d = d;
        work.first = first;
        work.count = min(TARGETS, d - first);
        work.next = work.waiting = work.busy = work.lock = work.nodes = 0;
        work.most = (int)fmax(1.0, fmin((double)MOST_NODES, 0.5 * sets / f.sets_per_node));
        work.there = 1;
        return;
    }
}

// All sets of a pair as a node. One thread.
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

// Takes a node for the warp of this thread: one that waits, or else the next target. 1: taken, 0: nothing is left, -1: not
// yet known. Only one thread of a warp calls it.
DEVICE int take_node(Work& work, const Node* stack, const int level, Node& node) {
    while (atomicCAS(&work.lock, 0, 1) != 0) __nanosleep(40);
    __threadfence_block();
    int got = 1;
    if (now(work.waiting) > 0) node = stack[--work.waiting];
    else if (now(work.next) < work.count) {
        const int t = work.next++;
        if (work.open[t]) got = -1;  // not to be tested
        else root(work, work.first + t, level, node);
    } else got = now(work.busy) > 0 ? -1 : 0;
    if (got > 0) atomicAdd(&work.busy, 1);
    __threadfence_block();
    atomicExch(&work.lock, 0);
    return got;
}

// Puts a node on the stack; false where that is full. One thread.
DEVICE bool put_node(Work& work, Node* stack, const Node& node) {
    while (atomicCAS(&work.lock, 0, 1) != 0) __nanosleep(40);
    __threadfence_block();
    const bool room = now(work.waiting) < STACK;
    if (room) stack[work.waiting++] = node;
    __threadfence_block();
    atomicExch(&work.lock, 0);
    return room;
}

// A node and all that comes from its first children; the others wait on the stack. One warp.
template <int SLOTS>
DEVICE void follow(Work& work, const RowBound& row, const Bench& bench, Node* stack, Node& node, Node& other) {
    const int t = node.target - work.first, lane = team_lane();
    int& open = work.open[t];
    for (;;) {
        int stop = 0;
        if (lane == 0) stop = now(open) || atomicAdd(&work.used[t], 1) >= work.most;
        if (__shfl_sync(FULL, stop, 0)) {
            open = 1;
            return;
        }
        bool two;
        const Verdict verdict = examine<SLOTS>(row, bench, node, other, two);
        if (verdict == OPEN) open = 1;
        if (verdict != SPLIT) return;
        if (two && lane == 0 && !put_node(work, stack, other)) open = 1;
        __syncwarp();
    }
}

// Certifies pairs of the rows low < degree <= high.
//   Work    item = up to 32 targets of a row; its warps share a stack of nodes
//   Launch  persistent grid, block 256 or 512; dynamic shared memory as in pycupc/engines/gpu/pruning.py; `launch`
//           numbers the launches of a level; `inside`: the row's matrix lies in shared memory
//   Reads   g.C, g.G, g.start, g.column, lv.binom, f.delta, f.margin
//   Writes  g.best (0 for a certified pair, so that no set is below it), f.certified, f.open, counters
template <int SLOTS>
__global__ void __launch_bounds__(SLOTS == 5 ? 512 : 256, SLOTS <= 3 ? 2 : 1)
    prove_pairs(const Graph g, const Level lv, const Filter f, const int low, const int high, const int launch,
                const int inside) {
    extern __shared__ double pair_memory[];
    __shared__ Work work;
    __shared__ Node nodes[2 * 16];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    double* space = f.work + blockIdx.x * f.work_doubles;
    Node* stack = (Node*)space;
    space += STACK * NODE_DOUBLES;
    double* R = inside ? pair_memory : space + warps * bench_doubles(high, lv.level);
    double* delta = inside ? pair_memory + (high + 1) * (high + 1) : pair_memory;
    double* vectors = delta + high;
    unsigned short* lists = (unsigned short*)(vectors + warps * high);
    Bench bench;
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
            work.open[t] = g.G[(i64)x * g.p + g.column[e0 + work.first + t]] != LIVE;
        }
        for (int i = warp; i <= d; i += warps) {
            const double* from = g.C + (i64)(i < d ? g.column[e0 + i] : x) * g.p;
            for (int j = lane; j <= d; j += 32) R[i * (d + 1) + j] = from[j < d ? g.column[e0 + j] : x];
        }
        for (int k = threadIdx.x; k < d; k += blockDim.x) delta[k] = f.delta[e0 + k];
        bench.pitch = d + 1;
        bench.v = bench.W + bench_doubles(high, lv.level) - (high + 1);
        bench.y = bench.v - (high + 1);
        bench.x = bench.y - (high + 1);
        const RowBound row = {R, delta, d, cutoff, f.margin[x]};
        __syncthreads();
        for (;;) {
            int got = 0;
            if (lane == 0) got = *lv.stop ? 0 : take_node(work, stack, lv.level, nodes[2 * warp]);
            got = __shfl_sync(FULL, got, 0);
            __syncwarp();
            if (got == 0) break;
            if (got < 0) {
                __nanosleep(200);
                continue;
            }
            follow<SLOTS>(work, row, bench, stack, nodes[2 * warp], nodes[2 * warp + 1]);
            __syncwarp();
            if (lane == 0) atomicSub(&work.busy, 1);
        }
        __syncthreads();
        for (int t = threadIdx.x; t < work.count; t += blockDim.x) {
            const i64 e = e0 + work.first + t;
            const bool sure = !work.open[t] && !*lv.stop;
            f.certified[e] = sure;
            if (sure) g.best[e] = 0;
            if (sure) atomicSub(&f.open[x], 1);
            if (sure) atomicAdd(&work.there, 1);
            atomicAdd(&work.nodes, work.used[t]);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            const u64 proven = (u64)(work.there - 1);
            atomicAdd(&lv.counters->bounds, (u64)work.nodes);
            atomicAdd(&lv.counters->certified, proven);
            atomicAdd(&lv.counters->worth, (double)proven * (double)lv.binom(d - 1, lv.level));
        }
    }
}

// After the tests: takes the mark from certified pairs, and counts the tests that they spared.
//   Launch  any grid, block 256: one thread per pair
extern "C" __global__ void lift(const Graph g, const Level lv, const Filter f, const i64 pairs) {
    u64 spared = 0;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        if (!f.certified[e]) continue;
        const i64 x = g.source[e], y = g.column[e];
        g.best[e] = NOT_SEPARATED;
        if (x < y || g.G[x * g.p + y] != GONE_A) spared += lv.binom((int)(g.start[x + 1] - g.start[x]) - 1, lv.level);
    }
    spared = sum_over_warp(spared);
    if ((threadIdx.x & 31) == 0 && spared) atomicAdd(&lv.counters->spared, spared);
}
