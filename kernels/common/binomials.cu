// binomials.cu -- the table of binomial coefficients that all kernels share.
#include "common/subsets.cuh"

// The table: C(n, k) at binom[k * stride + n] for n < stride and k < columns, saturated at BINOM_MAX.
//   Work    one thread per n
//   Launch  grid ceil(stride/128), block 128
//   binom   [columns, stride] uint64; written here
extern "C" __global__ void binomial_table(u64* binom, const int stride, const int columns) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= stride) return;
    for (int k = 0; k < columns; ++k) {
        u64 value;
        if (k == 0) value = 1;
        else if (k > n) value = 0;
        else if (2 * k > n) value = binom[(i64)(n - k) * stride + n];  // C(n, k) = C(n, n - k)
        else value = binomial_next(binom[(i64)(k - 1) * stride + n], n, k);
        binom[(i64)k * stride + n] = value;
    }
}
