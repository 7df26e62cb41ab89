// pick.cu -- level 0 as a sieve: the pairs of columns whose correlation may exceed the cutoff, found from products in
//   half precision, of which the sums stay in registers. halves.cuh proves that none is missed.
//   Z        [p, n] float64: the centred columns, one after the other; centre writes it
//   squares  [p] float64: sum of squares of each; centre writes it
//   halves   [P, words] uint4: the unit columns in half precision, eight observations to a word; zeros beyond the last
//            observation and column. P is p rounded up to SIDE, and SIDE more; words is even
#include "sieve/halves.cuh"

constexpr int SIDE = 128;  // rows of a tile of pairs; as in pycupc/engines/gpu/device_sieve.py
constexpr int WORDS = 8;   // words of a column in a part: 64 observations; as there
constexpr int THREADS_OF_TILE = 256;

//   Work    a thread per word
//   Launch  any grid and block
extern "C" __global__ void round_columns(const double* __restrict__ Z, const double* __restrict__ squares,
                                         uint4* halves, const int words, const int n, const int p, const i64 total) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += threads) {
        const i64 j = at / words;
        const int i0 = 8 * (int)(at % words);
        const double sum = j < p ? squares[j] : 0.0;
        const double scale = sum > 0.0 && sum < from_bits(0x7ff0000000000000ULL) ? 1.0 / sqrt(sum) : 0.0;
        unsigned word[4];
        UNROLL
        for (int h = 0; h < 4; ++h) {
            const int i = i0 + 2 * h;
            const double v = scale > 0.0 && i < n ? scale * Z[j * n + i] : 0.0;
            const double w = scale > 0.0 && i + 1 < n ? scale * Z[j * n + i + 1] : 0.0;
            word[h] = half_of(v) | half_of(w) << 16;
        }
        halves[at] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

// A part: WORDS words of some columns, in shared memory. Word c of column j lies at `at(j, c)`, so that the same word of
// eight columns, which `load_matrices` reads at a time, lies in different banks.
DEVICE int at(const int j, const int c) { return j * WORDS + (c ^ (j & 7)); }

// Starts copying the words from w0 on of the columns from j0 on. Whole block.
template <int COLUMNS>
DEVICE void load_part(uint4* part, const uint4* halves, const int words, const int w0, const i64 j0) {
    UNROLL
    for (int h = 0; h < COLUMNS * WORDS / THREADS_OF_TILE; ++h) {
        const int i = (int)threadIdx.x + h * THREADS_OF_TILE, j = i / WORDS, c = i % WORDS;
        if (w0 + c < words) copy16(&part[at(j, c)], halves + (j0 + j) * words + w0 + c);
    }
}

// The sums of a thread: 4 x GROUPS products of 16 x 8, see `multiply`.
template <int GROUPS>
struct Sums {
    float of[4][GROUPS][4];
    DEVICE float& operator[](const int h) { return of[h / (4 * GROUPS)][h / 4 % GROUPS][h % 4]; }
    // Adds the products of the first `width` words of two parts, which begin at the first row and column of the warp.
    // Whole warp.
    DEVICE void add(const uint4* left, const uint4* right, const int width) {
        const int lane = threadIdx.x & 31, j = lane & 7, low = lane >> 3 & 1, high = lane >> 4;
        UNROLL
        for (int c = 0; c < WORDS; c += 2) {
            if (c >= width) break;
            const uint4 *row = left + at(8 * low + j, c + high), *column = right + at(8 * high + j, c + low);
            unsigned a[4], b[GROUPS / 2][4];
            UNROLL
            for (int g = 0; g < GROUPS / 2; ++g) load_matrices(b[g], column + 16 * g * WORDS);
            UNROLL
            for (int i = 0; i < 4; ++i) {
                load_matrices(a, row + 16 * i * WORDS);
                UNROLL
                for (int g = 0; g < GROUPS; ++g) multiply(of[i][g], a, b[g / 2][g % 2 * 2], b[g / 2][g % 2 * 2 + 1]);
            }
        }
    }
};

// Writes the pairs of a warp, from row y and column x on, whose |sum| exceeds the threshold, of columns before `end`. No
// sum is NaN, since halves are at most 1 in size. Whole warp.
template <int GROUPS>
DEVICE void write_pairs(Sums<GROUPS>& sums, const i64 y, const i64 x, const i64 end, const int p, const float threshold,
                        const u64 room, u64* count, u64* pairs) {
    float largest = 0.0f;
    UNROLL
    for (int h = 0; h < 16 * GROUPS; ++h) largest = fmaxf(largest, fabsf(sums[h]));
    if (!__any_sync(FULL, largest > threshold)) return;
    const int lane = threadIdx.x & 31;
    const i64 row = y + (lane >> 2), column = x + 2 * (lane & 3);  // of sum 0
    const auto row_of = [=](const int i, const int h) { return row + 16 * i + 8 * (h >> 1 & 1); };
    const auto column_of = [=](const int h) { return column + 8 * (h >> 2) + (h & 1); };
    unsigned hits[4] = {};
    int own = 0;
    UNROLL
    for (int i = 0; i < 4; ++i) {
        UNROLL
        for (int h = 0; h < 4 * GROUPS; ++h) {
            const bool counts = row_of(i, h) < column_of(h) && column_of(h) < end;
            hits[i] |= (unsigned)(counts && fabsf(sums[4 * GROUPS * i + h]) > threshold) << h;
        }
        own += __popc(hits[i]);
    }
    const int through = scan_over_warp(own), total = __shfl_sync(FULL, through, 31);
    const u64 base = lane == 0 && total ? atomicAdd(count, (u64)total) : 0;
    u64 place = __shfl_sync(FULL, base, 0) + through - own;
    UNROLL
    for (int i = 0; i < 4; ++i)
        for (; hits[i]; hits[i] &= hits[i] - 1, ++place) {
            const int h = __ffs((int)hits[i]) - 1;
            if (place < room) pairs[place] = (u64)(row_of(i, h) * p + column_of(h));
        }
}

// The pairs that may be dependent given the empty set. Squares of `group` x `group` tiles of SIDE x SIDE pairs are
// numbered by columns of the upper triangle; their blocks run at about the same time, so that their columns stay in the
// L2 cache. While a part is multiplied the next one is on its way, across the ends of tiles too.
//   Work    a block has SIDE rows of a square, and goes through their tiles from left to right; a warp has 64 rows
//   Launch  grid `group` per square, block 256
//   Memory  dynamic: two parts of the columns, and `slots` parts of the rows
//   first      the square of the first block
//   group      tiles on a side of a square
//   slots      2, or the parts that all observations make: the rows are then loaded once
//   threshold  cutoff - margin, rounded down
//   count      [1] number of pairs; beyond `room` they are only counted
//   pairs      [room] i p + j of each pair i < j, in any order
//   stop       [1] a non-zero value makes the kernel return
//   Template argument LONG: tiles of half the columns, with room for the sums of more than STRETCH observations.
template <bool LONG>
__global__ void __launch_bounds__(THREADS_OF_TILE, 1)
    pick_pairs(const uint4* __restrict__ halves, const int words, const int p, const float threshold, const i64 first,
               const int group, const int slots, const u64 room, u64* count, u64* pairs, const volatile int* stop) {
    constexpr int GROUPS = LONG ? 4 : 8, COLUMNS = 32 * GROUPS, TURNS = STRETCH / (8 * WORDS);
    extern __shared__ uint4 parts[];
    const i64 square = first + blockIdx.x / group;
    i64 J = (i64)((sqrt(8.0 * (double)square + 1.0) - 1.0) / 2.0);
    while (J * (J + 1) / 2 > square) --J;
    while ((J + 1) * (J + 2) / 2 <= square) ++J;
    const i64 y0 = ((square - J * (J + 1) / 2) * group + blockIdx.x % group) * SIDE,
              end = min((J + 1) * group * SIDE, (i64)p);
    const i64 begin = J * group * SIDE, x0 = begin + max(y0 - begin, (i64)0) / COLUMNS * COLUMNS;  // where pairs begin
    if (y0 >= end || __syncthreads_or(threadIdx.x == 0 && *stop)) return;
    i64 next = x0;  // the tile and the words of the part that is loaded next, and the places of its rows and columns
    int next_w0 = 0, next_slot = 0, next_side = 0;
    uint4* const lefts = parts + 2 * COLUMNS * WORDS;
    const auto load_next = [&]() {
        if (next >= end) return;
        if (next == x0 || slots * WORDS < words)
            load_part<SIDE>(lefts + next_slot * SIDE * WORDS, halves, words, next_w0, y0);
        load_part<COLUMNS>(parts + next_side * COLUMNS * WORDS, halves, words, next_w0, next);
        next_side ^= 1;
        next_slot = next_slot + 1 == slots ? 0 : next_slot + 1;
        next_w0 += WORDS;
        if (next_w0 >= words) next_w0 = 0, next += COLUMNS;
    };
    load_next();
    const int warp = threadIdx.x >> 5, y = (warp >> 2) * 64, x = (warp & 3) * 8 * GROUPS;
    int slot = 0, side = 0;
    for (i64 tile = x0; tile < end; tile += COLUMNS) {
        Sums<GROUPS> sums = {}, all = {};
        for (int w0 = 0, turn = 1; w0 < words; w0 += WORDS, ++turn) {
            arrived();
            __syncthreads();
            load_next();
            sums.add(lefts + (slot * SIDE + y) * WORDS, parts + (side * COLUMNS + x) * WORDS, words - w0);
            side ^= 1;
            slot = slot + 1 == slots ? 0 : slot + 1;
            if (LONG && (turn % TURNS == 0 || w0 + WORDS >= words)) {
                UNROLL
                for (int h = 0; h < 16 * GROUPS; ++h) all[h] += sums[h], sums[h] = 0.0f;
            }
        }
        write_pairs(LONG ? all : sums, y0 + y, tile + x, end, p, threshold, room, count, pairs);
    }
}
