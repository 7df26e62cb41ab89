// cuda_on_host.h -- runs CUDA kernels on the host, one block after the other, each thread a coroutine: for tests of
//   what kernels compute. Barriers and the exchange within a warp take all living threads of the block or warp, and a
//   block waits at one barrier of the source, or the program ends. A thread runs until it waits or sleeps. The order of
//   the threads is random, from the seed of the launch, and half of the time a warp runs ahead of the others as far as
//   it can, so that a race may change the answer. Shared memory is static; the dynamic part is dynamic_memory.
#pragma once
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <tuple>
#include <ucontext.h>
#include <utility>
#include <vector>
using std::max;
using std::min;

#define __CUDACC__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __shared__ static
#define __restrict__

struct Dim {
    unsigned x = 1, y = 1, z = 1;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct alignas(16) double2 {
    double x, y;
};
inline double2 make_double2(double x, double y) { return {x, y}; }
struct alignas(16) float4 {
    float x, y, z, w;
};

static Dim threadIdx, blockIdx, blockDim, gridDim;
alignas(256) static char dynamic_memory[1 << 18];

namespace host {
enum State { READY, ASLEEP, AT_BLOCK, AT_WARP, DONE };
struct Thread {
    jmp_buf at;
    State state = DONE;
    Dim index;
    bool begun = false;
    const char* barrier = nullptr;  // where it waits for its block
};
static std::vector<Thread> threads;
static std::vector<char> stacks;
static unsigned long long slots[1024][6];
static unsigned current;
static std::minstd_rand order;
static bool shuffled;  // else the threads run in order
static jmp_buf scheduler;
static ucontext_t outside;
static void (*body)(void*);
static void* body_data;
constexpr size_t STACK = 64 << 10;

static void run_body() {
    body(body_data);
    threads[current].state = DONE;
    _longjmp(scheduler, 1);
}

inline void pause(const State state) {
    threads[current].state = state;
    if (!_setjmp(threads[current].at)) _longjmp(scheduler, 1);
}

inline void resume(const unsigned t) {
    current = t;
    threadIdx = threads[t].index;
    if (_setjmp(scheduler)) return;
    if (threads[t].begun) _longjmp(threads[t].at, 1);
    threads[t].begun = true;
    static ucontext_t fresh;
    getcontext(&fresh);
    fresh.uc_stack.ss_sp = &stacks[t * STACK];
    fresh.uc_stack.ss_size = STACK;
    fresh.uc_link = &outside;
    makecontext(&fresh, run_body, 0);
    setcontext(&fresh);
}

inline void fail(const char* what, const char* place = "", const char* other = "") {
    fprintf(stderr, "deadlock: %s %s %s\n", what, place, other);
    abort();
}

// Runs the threads first .. end - 1 of a warp until each waits; true if they waited for each other and may go on.
inline bool run_warp(const unsigned first, const unsigned end, bool& any) {
    const bool backwards = shuffled && order() & 1;
    for (unsigned i = first; i < end; ++i) {
        const unsigned t = backwards ? end - 1 - (i - first) : i;
        while (threads[t].state == READY) resume(t), any = true;
    }
    bool waits = false;
    for (unsigned t = first; t < end; ++t) {
        if (threads[t].state != AT_WARP && threads[t].state != DONE) return false;
        waits = waits || threads[t].state == AT_WARP;
    }
    for (unsigned t = first; t < end; ++t)
        if (threads[t].state == AT_WARP) threads[t].state = READY, any = true;
    return waits;
}

inline void run_block() {
    const unsigned n = blockDim.x * blockDim.y * blockDim.z;
    threads.assign(n, {});
    if (stacks.size() < n * STACK) stacks.resize(n * STACK);
    for (unsigned t = 0; t < n; ++t) {
        threads[t].state = READY;
        threads[t].index = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
    }
    std::vector<unsigned> warps((n + 31) / 32);
    std::iota(warps.begin(), warps.end(), 0);
    for (bool any = true; any;) {
        any = false;
        if (shuffled) std::shuffle(warps.begin(), warps.end(), order);
        for (const unsigned w : warps) {
            const bool ahead = shuffled && order() & 1;
            while (run_warp(32 * w, min(n, 32 * w + 32), any) && ahead) {}
        }
        for (Thread& t : threads)
            if (t.state == ASLEEP) t.state = READY, any = true;
        if (any) continue;
        const char* barrier = nullptr;
        for (Thread& t : threads) {
            if (t.state == AT_WARP) fail("a warp waits for lanes at another barrier");
            if (t.state != AT_BLOCK) continue;
            if (barrier && strcmp(barrier, t.barrier)) fail("threads of a block wait at", barrier, t.barrier);
            barrier = t.barrier;
        }
        for (Thread& t : threads)
            if (t.state == AT_BLOCK) t.state = READY;
        any = barrier != nullptr;
    }
}

template <typename F>
void run(const Dim grid, const Dim block, F&& kernel) {
    gridDim = grid;
    blockDim = block;
    body = [](void* f) { (*(typename std::remove_reference<F>::type*)f)(); };
    body_data = (void*)&kernel;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                memset(dynamic_memory, 0xcd, sizeof dynamic_memory);
                run_block();
            }
}

// A launch with the arguments' addresses, as cuLaunchKernel takes them. seed: of the order of the threads.
template <typename... A, size_t... I>
void launch(void (*kernel)(A...), void** args, const Dim grid, const Dim block, std::index_sequence<I...>) {
    run(grid, block, [&] { kernel(*(typename std::remove_const<A>::type*)args[I]...); });
}
template <typename... A>
void launch(void (*kernel)(A...), void** args, const Dim grid, const Dim block, const unsigned seed) {
    order.seed(seed);
    shuffled = true;
    launch(kernel, args, grid, block, std::index_sequence_for<A...>());
}

template <typename T>
T exchange(const T v, const unsigned lane) {
    memcpy(slots[current], &v, sizeof v);
    pause(AT_WARP);
    T out;
    memcpy(&out, slots[(current & ~31u) + (lane & 31u)], sizeof v);
    pause(AT_WARP);
    return out;
}

inline void barrier(const char* place) {
    threads[current].barrier = place;
    pause(AT_BLOCK);
}

inline int any_in_block(const bool v, const char* place) {
    slots[current][0] = v;
    barrier(place);
    bool any = false;
    for (size_t i = 0; i < threads.size(); ++i) any = any || (threads[i].state != DONE && slots[i][0]);
    barrier(place);
    return any;
}
}  // namespace host

#define PLACE_(line) #line
#define PLACE(line) PLACE_(line)
#define HERE __FILE__ ":" PLACE(__LINE__)
#define __syncthreads() host::barrier(HERE)
#define __syncthreads_or(v) host::any_in_block(v, HERE)
#define __syncthreads_and(v) (!host::any_in_block(!(v), HERE))
inline void __syncwarp(unsigned = 0) { host::pause(host::AT_WARP); }
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) { host::pause(host::ASLEEP); }
inline void __threadfence() {}
template <typename T>
T __shfl_sync(unsigned, T v, int lane) {
    return host::exchange(v, (unsigned)lane);
}
template <typename T>
T __shfl_xor_sync(unsigned, T v, int mask) {
    return host::exchange(v, host::current ^ (unsigned)mask);
}
template <typename T>
T __shfl_up_sync(unsigned, T v, int delta) {
    const int lane = (int)(host::current & 31u);
    return host::exchange(v, (unsigned)(lane >= delta ? lane - delta : lane));
}
inline unsigned __ballot_sync(unsigned, bool v) {
    host::slots[host::current][0] = v;
    host::pause(host::AT_WARP);
    unsigned out = 0;
    const unsigned first = host::current & ~31u;
    for (unsigned i = 0; i < 32 && first + i < host::threads.size(); ++i)
        out |= (host::threads[first + i].state != host::DONE && host::slots[first + i][0] ? 1u : 0u) << i;
    host::pause(host::AT_WARP);
    return out;
}
inline bool __any_sync(unsigned mask, bool v) { return __ballot_sync(mask, v) != 0; }
inline float __double2float_rd(double v) {
    const float f = (float)v;
    return (double)f > v ? nextafterf(f, -INFINITY) : f;
}
inline float __double2float_ru(double v) { return -__double2float_rd(-v); }
inline float __double2float_rz(double v) { return v < 0 ? __double2float_ru(v) : __double2float_rd(v); }
inline int __double2int_rn(double v) { return (int)std::nearbyint(v); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_ru(float v) {
    const float f = (float)(1.0 / (double)v);
    return (double)f < 1.0 / (double)v ? nextafterf(f, INFINITY) : f;
}
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
template <typename To, typename From>
To same_bits(const From v) {
    To out;
    memcpy(&out, &v, sizeof out);
    return out;
}
inline long long __double_as_longlong(double v) { return same_bits<long long>(v); }
inline double __longlong_as_double(long long v) { return same_bits<double>(v); }
inline unsigned __float_as_uint(float v) { return same_bits<unsigned>(v); }
inline float __uint_as_float(unsigned v) { return same_bits<float>(v); }
inline int __double2hiint(double v) { return (int)(__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return (int)__double_as_longlong(v); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
#define ATOMIC(name, new_value)       \
    template <typename T, typename U> \
    T name(T* at, U v) {              \
        const T old = *at;            \
        *at = (T)(new_value);         \
        return old;                   \
    }
ATOMIC(atomicAdd, old + (T)v)
ATOMIC(atomicSub, old - (T)v)
ATOMIC(atomicExch, v)
ATOMIC(atomicOr, old | (T)v)
ATOMIC(atomicAnd, old&(T)v)
ATOMIC(atomicMin, min(old, (T)v))
ATOMIC(atomicMax, max(old, (T)v))
template <typename T, typename U>
T atomicCAS(T* at, U expected, U v) {
    const T old = *at;
    if (old == (T)expected) *at = (T)v;
    return old;
}

// The product of the tensor cores: element (row, column) of c counts the common bits of a row of a and a column of b.
#define COUNT_COMMON_BITS
inline void count_common_bits(int* c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    const unsigned values[6] = {a0, a1, a2, a3, b0, b1};
    for (int i = 0; i < 6; ++i) host::slots[host::current][i] = values[i];
    host::pause(host::AT_WARP);
    const unsigned first = host::current & ~31u, lane = host::current & 31u, row = lane >> 2;
    for (unsigned j = 0; j < 2; ++j) {
        const unsigned column = 2 * (lane & 3) + j;
        for (unsigned k = 0; k < 4; ++k) {
            const auto& a = host::slots[first + 4 * row + k];
            const auto& b = host::slots[first + 4 * column + k];
            c[j] += __popc((unsigned)(a[0] & b[4])) + __popc((unsigned)(a[2] & b[5]));
            c[2 + j] += __popc((unsigned)(a[1] & b[4])) + __popc((unsigned)(a[3] & b[5]));
        }
    }
    host::pause(host::AT_WARP);
}
