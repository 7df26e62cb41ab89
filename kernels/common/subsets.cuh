// subsets.cuh -- binomial coefficients and subsets in lexicographic order, in 64 bits, with overflow checked; and the
//   place of a value in an ascending list.
//   Compiles as CUDA and as plain C++ (tests/kernels/test_kernel_helpers.py).
//   A subset s_0 < ... < s_{k-1} of {0..n-1} has lexicographic rank  C(n,k) - 1 - sum_i C(n-1-s_i, k-i):
//   lexicographic order is the colexicographic order of the mirrored elements n-1-s_i, run backwards.
//   Example with n = 5, k = 2: {1,3} has rank 10 - 1 - (C(3,2) + C(1,1)) = 5.
#pragma once
#ifdef __CUDACC__
#define HD __host__ __device__ __forceinline__
#define DEVICE __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#else
#define HD inline
#define UNROLL
#endif
typedef unsigned long long u64;
typedef long long i64;

constexpr u64 BINOM_MAX = 1ULL << 62;  // larger counts are stored as this one and never enumerated

// Table of C(n, k), saturated at BINOM_MAX.
struct Binomials {
    const u64* table;  // [columns, stride] C(n, k) at k * stride + n; Device.binomials of pycupc/engines/gpu
    int stride;
    HD const u64* column(int k) const { return table + (i64)k * stride; }
    HD u64 operator()(int n, int k) const { return table[(i64)k * stride + n]; }
};

// The terms of the first `known` members s[0..known-1] in the rank of a k-subset of {0..n-1}; the caller subtracts
// the terms of the other members. With known = k this is the rank of s.
HD u64 rank_from(const Binomials& binom, int n, int k, const int* s, int known) {
    u64 rank = binom(n, k) - 1;
    for (int i = 0; i < known; ++i) rank -= binom(n - 1 - s[i], k - i);
    return rank;
}

// Position of the first value of an ascending list [n] that is not below v; n if all are.
template <typename T, typename N>
HD N first_not_below(const T* list, N n, T v) {
    N lo = 0, hi = n;
    while (lo < hi) {
        const N mid = (lo + hi) >> 1;
        if (list[mid] < v) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// Largest c in [0, top] with C(c, k) <= left, by bisection; column[c] = C(c, k) grows with c.
HD int binomial_floor(const u64* column, int top, u64 left) {
    int lo = 0, hi = top;
    while (lo < hi) {
        const int mid = (lo + hi + 1) >> 1;
        if (column[mid] <= left) lo = mid;
        else hi = mid - 1;
    }
    return lo;
}

// The subset of rank `rank` among the k-subsets of {0..n-1}, ascending, to s; by one thread. Buckles and Lybanon
// (1977), ACM TOMS 3(2), algorithm 515, with a table and bisection.
HD void subset_unrank(const Binomials& binom, int n, int k, u64 rank, int* s) {
    u64 left = binom(n, k) - 1 - rank;
    int top = n - 1;
    for (int i = 0; i < k; ++i) {
        const u64* column = binom.column(k - i);
        const int c = binomial_floor(column, top, left);
        s[i] = n - 1 - c;
        left -= column[c];
        top = c - 1;
    }
}

// pcalg's number of tests of the target at position y up to the set of this rank.
HD u64 tests_up_to(const Binomials& binom, const int d, const int l, const int y, const u64 rank) {
    u64 left = binom(d, l) - 1 - rank, tests = binom(d - 1, l);
    for (int i = 0, top = d - 1; i < l; ++i) {
        const u64* column = binom.column(l - i);
        const int c = binomial_floor(column, top, left), k = d - 1 - c;
        tests -= binom(d - 2 - (k - (k > y)), l - i);
        left -= column[c];
        top = c - 1;
    }
    return tests;
}

// Makes s the next k-subset in lexicographic order. Returns the first position that changed, -1 after the last subset.
HD int subset_next(int n, int k, int* s) {
    int i = k - 1;
    while (i >= 0 && s[i] == n - k + i) --i;
    if (i < 0) return -1;
    const int first = i;
    ++s[i];
    for (++i; i < k; ++i) s[i] = s[i - 1] + 1;
    return first;
}
