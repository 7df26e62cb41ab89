// halves.cuh -- unit columns in half precision, their products on the matrix units, and how far these may be off.
//
//   Column a of the data, centred, has the unit vector z_a = d_a / sqrt(S_aa), and half(z_a) is that rounded. A product
//   c = half(z_a) . half(z_b), summed in single precision, stands for r_ab. With u = 2^-11, half an ulp of 1 - u:
//     Rounding.    An entry of z_a changes by at most u of itself, or by 2^-25 where it is below 2^-14 (then halves are
//                  multiples of 2^-24). So |half(z_a) - z_a| <= e = u (1 + 2^-12) + 2^-25 sqrt(n), also for columns
//                  with a few huge values, of which nearly all entries vanish; 2^-12 is for the double and the float on
//                  the way. By Cauchy, since |z_a| = 1: |half(z_a) . half(z_b) - z_a . z_b| <= 2 e + e^2.
//     Summing.     A product of two halves is exact in single precision. The matrix units align the addends of a few
//                  products and the sum before to the largest of them, and cut off bits from its 24th on: each addend,
//                  and each result, loses less than 2^-22 of the largest, which is at most the sum m of |a_i b_i| over
//                  the observations summed so far. After STRETCH observations such a sum is added to another by an
//                  ordinary addition, and a new one begins. All m together are at most (1 + e)^2 < 1.01 by Cauchy. So
//                  the loss is below 1.01 (STRETCH or n, whichever is less, rounded up to 16) 2^-21, for a loss at each
//                  addend and at each result, and 2^-23 for each ordinary addition.
//     Definition.  r_ab itself, in double precision, differs from z_a . z_b by less than (n + 8) 2^-52.
//   `margin_of` in pycupc/engines/gpu/device_sieve.py adds these up: 0.0011 for n = 200, 0.0015 from n = 1,000 on. A
//   pair with |r_ab| > cutoff has |c| > cutoff - margin. Columns of which S_aa is not a positive number have r = NaN
//   with every other, which counts as independence; they are zeros here, so that no pair of theirs is picked.
#pragma once
#include "common/warp.cuh"

// observations whose products the matrix units add up; as in pycupc/engines/gpu/device_sieve.py
constexpr int STRETCH = 1024;

// The nearest half precision number of v, |v| <= 2.
DEVICE unsigned half_of(const double v) {
    const unsigned b = __float_as_uint((float)v), sign = b >> 16 & 0x8000u, size = b & 0x7fffffffu;
    if (size < 0x38800000u) return sign | (unsigned)__double2int_rn(fabs(v) * 0x1p24);  // below 2^-14
    return sign | ((size + 0xfffu + (size >> 13 & 1u)) >> 13) - (112u << 10);
}

// The number of a half precision number without sign of infinity or NaN.
DEVICE float number_of_half(const unsigned half) {
    const unsigned size = half & 0x7fffu;
    const float v = size < 0x400u ? (float)size * 0x1p-24f : __uint_as_float((size << 13) + (112u << 23));
    return half & 0x8000u ? -v : v;
}

// c += A B for A [16, 16] and B [16, 8] in half precision. A lane, of group lane / 4 and place t = lane % 4, has of A the
// columns 2 t, 2 t + 1 (and 8 more: a[2], a[3]) of row `group` (and group + 8: a[1], a[3]), of B the rows 2 t, 2 t + 1
// (and 8 more: b1) of column `group`, and of C the columns 2 t, 2 t + 1 of row `group` (and group + 8: c[2], c[3]).
// Whole warp.
DEVICE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned b0, const unsigned b1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else  // older devices, and the host
    const int lane = threadIdx.x & 31, group = lane >> 2, t = lane & 3;
    for (int k = 0; k < 4; ++k) {
        unsigned of_a[4];
        for (int h = 0; h < 4; ++h) of_a[h] = __shfl_sync(FULL, a[h], 4 * group + k);
        for (int j = 0; j < 2; ++j)
            for (int half = 0; half < 2; ++half) {  // the first or the last 8 rows of B
                const unsigned of_b = __shfl_sync(FULL, half ? b1 : b0, 4 * (2 * t + j) + k);
                for (int i = 0; i < 2; ++i) {
                    const unsigned mine = of_a[i + 2 * half];
                    float& sum = c[2 * i + j];
                    sum = fmaf(number_of_half(mine & 0xffffu), number_of_half(of_b & 0xffffu), sum);
                    sum = fmaf(number_of_half(mine >> 16), number_of_half(of_b >> 16), sum);
                }
            }
    }
#endif
}

// Four matrices of 8 x 8 halves in shared memory, a row of them 16 bytes; `row` of a lane is the row lane % 8 of matrix
// lane / 8. The lane gets of each matrix the columns 2 t, 2 t + 1 of row `group`, as `multiply` has them. Whole warp.
DEVICE void load_matrices(unsigned (&m)[4], const uint4* row) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
    const unsigned at = (unsigned)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(at)
                 : "memory");
#else
    const int lane = threadIdx.x & 31;
    for (int i = 0; i < 4; ++i) {
        const uint4* own = (const uint4*)__shfl_sync(FULL, (u64)row, 8 * i + (lane >> 2));
        m[i] = ((const unsigned*)own)[lane & 3];
    }
#endif
}

// Starts copying 16 bytes to shared memory; a thread has them after `arrived`.
DEVICE void copy16(uint4* to, const uint4* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(from) : "memory");
#else
    *to = *from;
#endif
}
DEVICE void arrived() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;\n" ::: "memory");
#endif
}
