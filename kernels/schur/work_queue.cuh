// work_queue.cuh -- how blocks take work items from a Queue (common/structures.cuh). A ticket numbers the items over
//   all phases and rows of the queue.
#pragma once
#include "common/warp.cuh"

// A work item of a block, in shared memory.
struct Item {
    u64 number;  // among the row's items
    int row;
    bool there;  // false: no work left, or the stop flag is set
};

// Phase of a ticket, -1 past the last item. One warp.
DEVICE int phase_of(const Queue& q, const u64 ticket) {
    const i64 pitch = q.p + 1;
    for (int f0 = 0; f0 < q.phases; f0 += 32) {
        const int f = f0 + (threadIdx.x & 31);
        const unsigned m = __ballot_sync(FULL, f < q.phases && ticket < q.offsets[f * pitch + q.p]);
        if (m) return f0 + __ffs((int)m) - 1;
    }
    return -1;
}

// Takes the next item, in all lanes. One warp.
DEVICE Item take(const Queue& q, const Level& lv) {
    const int lane = threadIdx.x & 31;
    u64 ticket = 0;
    int halt = 0;
    if (lane == 0) {
        halt = *lv.stop;
        ticket = atomicAdd(&lv.counters->handed_out[q.index], 1ULL);
    }
    ticket = __shfl_sync(FULL, ticket, 0);
    if (__shfl_sync(FULL, halt, 0)) return {0, 0, false};
    const int phase = phase_of(q, ticket);
    if (phase < 0) return {0, 0, false};
    const u64* offsets = q.offsets + phase * (i64)(q.p + 1);
    int lo = 0, hi = q.p;  // the last row with offsets[row] <= ticket: 32 probes per step
    while (hi - lo > 1) {
        const int step = (hi - lo + 31) / 32;
        const int at = lo + lane * step;
        const unsigned m = __ballot_sync(FULL, at < hi && offsets[at] <= ticket);
        const int last = 31 - __clz((int)m);
        lo += last * step;
        hi = min(hi, lo + step);
    }
    return {((1ULL << phase) - 1) + (ticket - offsets[lo]), lo, true};
}

// Takes the next item for the block; false if no work is left or the stop flag is set. Whole block; item: in shared
// memory.
DEVICE bool next_item(const Queue& queue, const Level& lv, Item& item) {
    __syncthreads();
    if (threadIdx.x < 32) {
        const Item taken = take(queue, lv);
        if (threadIdx.x == 0) item = taken;
    }
    __syncthreads();
    return item.there;
}
