// lanes.cuh -- joint operations of the lanes of a warp, which examines one node at a time.
#pragma once
#include "common/warp.cuh"
#define OUT_OF_LINE __device__ __noinline__ static  // called from several places, and long
#define UNROLL2 _Pragma("unroll 2")
#define UNROLL4 _Pragma("unroll 4")
constexpr int LANES = 32;

DEVICE int lane_id() { return threadIdx.x & 31; }
DEVICE int lowest_bit(const unsigned v) { return __ffs((int)v) - 1; }
DEVICE int lanes_with(const bool b) { return __popc(__ballot_sync(FULL, b)); }
DEVICE int lanes_before_with(const bool b) { return lanes_before(__ballot_sync(FULL, b)); }
DEVICE int of_first_lane_with(const bool b, const int v) {  // there must be one
    return __shfl_sync(FULL, v, __ffs((int)__ballot_sync(FULL, b)) - 1);
}
DEVICE bool of_first_lane(const bool b) { return __shfl_sync(FULL, (int)b, 0) != 0; }
DEVICE void lower(u64& v, const double to) { atomicMin(&v, (u64)__double_as_longlong(to)); }  // to >= 0

// The present value of a variable that other warps may change.
DEVICE int now(const int& v) { return *(const volatile int*)&v; }
DEVICE unsigned now(const unsigned& v) { return *(const volatile unsigned*)&v; }
DEVICE u64 now(const u64& v) { return *(const volatile u64*)&v; }

// Replaces each of v[0 .. N - 1] by its sum over the warp.
template <int N>
DEVICE void sums_over_warp(double* v) {
    for (int o = 16; o; o >>= 1) {
        UNROLL
        for (int k = 0; k < N; ++k) v[k] += __shfl_xor_sync(FULL, v[k], o);
    }
}
