// exchange.cuh -- parts of pairs that go from block to block. When blocks have no more rows to take, blocks that still
//   have work give nodes away, so that a pair that takes long does not wait for one block.
#pragma once
#include "pruning/work.cuh"

constexpr int PARTS = 8192;  // most parts that wait; also in pycupc/engines/gpu/pruning/device_branch_and_bound.py

// One per launch, in global memory. All but `part` is zero at first.
struct Exchange {
    u64 taken, made;     // parts that blocks have taken, and given
    int working, idle;   // blocks with work; blocks that wait for a part
    u64 written[PARTS];  // 0, or n + 1 when part n lies here
    Part part[PARTS];    // part n lies at n % PARTS
};

// The notes about a pair with parts, in Pruning::spares while the launch runs, besides the number of its nodes.
constexpr u64 GIVEN_UP = 1ULL << 63;  // some part could not be decided
constexpr u64 OPENED = 1ULL << 62;  // a block searches for the first separating set; parts that were not asked are void

// Whether more blocks wait for a part than parts wait for a block.
DEVICE bool in_demand(const Exchange& ex) {
    const int idle = now(ex.idle);
    return idle > 0 && (i64)(now(ex.made) - now(ex.taken)) < idle;
}

// Gives a part away; false if too many wait. One thread.
OUT_OF_LINE bool give(Exchange& ex, const int row, const i64 pair, const Node& node, const int asked) {
    u64 n = now(ex.made);
    for (;;) {
        if ((i64)(n - now(ex.taken)) >= PARTS) return false;  // negative if others have gone on since n was read
        const u64 seen = atomicCAS(&ex.made, n, n + 1);
        if (seen == n) break;
        n = seen;
    }
    while (now(ex.written[n % PARTS]) != 0) __nanosleep(100);  // the part before is being read
    Part& part = ex.part[n % PARTS];
    part.node = node;
    part.pair = pair;
    part.row = row;
    part.asked = asked;
    __threadfence();
    atomicExch(&ex.written[n % PARTS], n + 1);
    return true;
}

// Waits for a part and takes it; false when no block has work any more. One thread, whose block counts as working.
OUT_OF_LINE bool take_part(Exchange& ex, const volatile int* stop, Part& part) {
    for (bool idle = false;;) {
        const int working = now(ex.working);
        __threadfence();
        const u64 n = now(ex.taken);
        if (n < now(ex.made)) {
            if (idle) {
                atomicAdd(&ex.working, 1);  // before the part is taken, so that others go on waiting
                atomicSub(&ex.idle, 1);
                idle = false;
            }
            if (atomicCAS(&ex.taken, n, n + 1) != n) continue;
            while (now(ex.written[n % PARTS]) != n + 1) __nanosleep(100);
            __threadfence();
            part = ex.part[n % PARTS];
            __threadfence();
            atomicExch(&ex.written[n % PARTS], 0ULL);
            return true;
        }
        if (!idle) {
            __threadfence();  // who then reads that no block works sees all parts that were made
            atomicSub(&ex.working, 1);
            atomicAdd(&ex.idle, 1);
            idle = true;
            continue;
        }
        if (working == 0 || *stop) {
            atomicSub(&ex.idle, 1);
            return false;
        }
        __nanosleep(2000);
    }
}

// Whether the nodes of a pair that several blocks work on are not wanted any more: the pair is left, or a block
// searches for its first separating set, or an earlier set is known than any of this part. One thread.
DEVICE bool unwanted(const Pruning& f, const Work& work, const i64 pair) {
    const u64 noted = now(f.spares[pair]);
    if (noted & GIVEN_UP || (noted & OPENED && !work.asked())) return true;
    if ((double)(noted & (OPENED - 1)) > work.allowed) {
        atomicOr(&f.spares[pair], GIVEN_UP);
        return true;
    }
    return work.is_part && work.lowest > now(f.rank[pair]);
}
