// targets.cuh -- the input of the tests of one prefix: the covariances given it, and the targets.
#pragma once
#include "common/warp.cuh"

constexpr unsigned NO_CUT = ~0u;         // cut[t]: no suffix of this prefix has separated target t
constexpr int PADDING = 3;               // entries of Targets::quick after the last target
constexpr float VARIANCE_ERROR = 1e-3f;  // most that a variance may be off in single precision, see Quick in sweep.cuh

// Bits of the float above which r^2 is neither a new smallest one, where `smallest` are the bits of that, nor doubtful.
DEVICE unsigned bound_above(const u64 smallest, const double sure_out) {
    return __float_as_uint(__double2float_ru(fmax(from_bits(smallest), sure_out)));
}

// Covariances given the prefix. A double lies in two words, since most tests read the first one only: `high` is its
// value rounded towards zero, `low` the 29 bits that are then missing. (Below 1e-38 bits are lost, which changes the
// value by less than that.)
struct Covariances {
    float* high;
    unsigned* low;
    DEVICE double operator[](const int at) const { return from_bits(bits((double)high[at]) | low[at]); }
    DEVICE void set(const int at, const double v) const {
        high[at] = __double2float_rz(v);
        low[at] = (unsigned)bits(v) & 0x1fffffffu;
    }
};

// The fields of a target that every lane reads, in one load.
struct alignas(16) QuickTarget {
    float xy, yy;    // cov(x, y | P) and var(y | P), rounded; the variance increased by VARIANCE_ERROR
    unsigned bound;  // bits of a float: r^2 above which a test is settled at once, rounded up
    int row;         // offset of y's row in M
};

// Targets of one prefix, an entry of each array per target, in shared memory.
struct Targets {
    double2* moment;     // {cov(x, y | P), var(y | P)}
    QuickTarget* quick;  // [+ PADDING] the same, and more, for the tests in single precision
    u64* least;          // bits of the smallest r^2 so far
    int* position;       // position of y in adj(x)
    unsigned* cut;       // number of the first separating suffix, or NO_CUT
};

DEVICE QuickTarget quick_target(const double2 moment, const u64 smallest, const double sure_out, const int row) {
    return {(float)moment.x, (float)moment.y + VARIANCE_ERROR, bound_above(smallest, sure_out), row};
}

// Repeats the last of `count` targets behind it, so that targets can be tested several at a time. Threads 0 ..
// PADDING - 1.
DEVICE void pad(const Targets& ts, const int count) {
    if (threadIdx.x >= PADDING) return;
    QuickTarget last = ts.quick[count - 1];
    last.bound = 0;  // its outcome does not matter, but it should seldom look open
    ts.quick[count + threadIdx.x] = last;
}

// Shared memory that is still free.
struct FreeMemory {
    char* at;
    template <class N>
    DEVICE N* take(const int n) {
        N* const taken = (N*)at;
        at += n * sizeof(N);
        return taken;
    }
};

// Room for n targets: 48 n + 16 PADDING bytes.
DEVICE Targets take_targets(FreeMemory& free, const int n) {
    Targets ts;
    ts.moment = free.take<double2>(n);
    ts.quick = free.take<QuickTarget>(n + PADDING);
    ts.least = free.take<u64>(n);
    ts.position = free.take<int>(n);
    ts.cut = free.take<unsigned>(n);
    return ts;
}
