// team.cuh -- joint operations of the lanes of a team, which is a warp. On the host a team is one thread, so that the
//   tests can run the same code.
#pragma once
#include "common/structures.cuh"
#ifdef __CUDACC__
#include "common/warp.cuh"
#define TEAM __device__ __forceinline__
#define TEAM_CALL __device__ __noinline__ static  // called from several places, and long
#define UNROLL2 _Pragma("unroll 2")
#define UNROLL4 _Pragma("unroll 4")
constexpr int LANES = 32;
TEAM int team_lane() { return threadIdx.x & 31; }
TEAM void team_sync() { __syncwarp(); }
TEAM int lowest_bit(const unsigned v) { return __ffs((int)v) - 1; }
TEAM double join_words(const unsigned high, const unsigned low) { return __hiloint2double((int)high, (int)low); }
TEAM double team_sum(const double v) { return sum_over_warp(v); }
TEAM double team_max(const double v) { return max_over_warp(v); }
TEAM int team_count(const bool b) { return __popc(__ballot_sync(FULL, b)); }
TEAM bool team_any(const bool b) { return __any_sync(FULL, b); }
TEAM int team_before(const bool b) { return lanes_before(__ballot_sync(FULL, b)); }  // lanes below this one with b
TEAM int team_pick(const int v, const bool b) {  // v of the first lane with b; there must be one
    return __shfl_sync(FULL, v, __ffs((int)__ballot_sync(FULL, b)) - 1);
}
TEAM bool team_first(const bool b) { return __shfl_sync(FULL, (int)b, 0) != 0; }  // b of the first lane
TEAM int count_down(int& v) { return atomicSub(&v, 1); }
TEAM void lower(u64& v, const double to) { atomicMin(&v, (u64)__double_as_longlong(to)); }  // to >= 0
TEAM void team_or(unsigned& word, const unsigned mask) { atomicOr(&word, mask); }
TEAM void team_and(unsigned& word, const unsigned mask) { atomicAnd(&word, mask); }
#else
#include <cmath>
#include <cstring>
#define TEAM inline
#define TEAM_CALL static
#define UNROLL2
#define UNROLL4
constexpr int LANES = 1;
TEAM int team_lane() { return 0; }
TEAM void team_sync() {}
TEAM int lowest_bit(const unsigned v) { return __builtin_ctz(v); }
TEAM double join_words(const unsigned high, const unsigned low) {
    const u64 bits = (u64)high << 32 | low;
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}
TEAM double team_sum(const double v) { return v; }
TEAM double team_max(const double v) { return v; }
TEAM int team_count(const bool b) { return b; }
TEAM bool team_any(const bool b) { return b; }
TEAM int team_before(const bool) { return 0; }
TEAM int team_pick(const int v, const bool) { return v; }
TEAM bool team_first(const bool b) { return b; }
TEAM int count_down(int& v) { return v--; }
TEAM void lower(u64& v, const double to) {
    u64 bits;
    std::memcpy(&bits, &to, sizeof bits);
    if (bits < v) v = bits;
}
TEAM void team_or(unsigned& word, const unsigned mask) { word |= mask; }
TEAM void team_and(unsigned& word, const unsigned mask) { word &= mask; }
using std::fabs, std::fma, std::fmax, std::fmin, std::sqrt;
#endif

// The present value of a variable that other teams may change.
TEAM int now(const int& v) { return *(const volatile int*)&v; }
TEAM unsigned now(const unsigned& v) { return *(const volatile unsigned*)&v; }
TEAM double now(const u64& bits) {
    const u64 v = *(const volatile u64*)&bits;
    return join_words((unsigned)(v >> 32), (unsigned)v);
}

// Replaces each of v[0 .. N - 1] by its sum over the team.
template <int N>
TEAM void team_sums(double* v) {
#ifdef __CUDACC__
    for (int o = 16; o; o >>= 1) {
        UNROLL
        for (int k = 0; k < N; ++k) v[k] += __shfl_xor_sync(FULL, v[k], o);
    }
#else
    (void)v;
#endif
}
