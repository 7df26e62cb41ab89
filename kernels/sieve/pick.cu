// pick.cu -- level 0 as a sieve: the pairs of columns whose correlation may exceed the cutoff, found from products in
//   half precision, of which the sums stay in registers. halves.cuh proves that none is missed.
//   Z        [p, n] float64: the centred columns, one after the other; centre writes it
//   squares  [p] float64: sum of squares of each; centre writes it
//   halves   [P, words] uint4: the unit columns in half precision, eight observations to a word; zeros beyond the last
//            observation and column. P is p rounded up to SIDE, and words is even
#include "sieve/halves.cuh"

constexpr int SIDE = 128;  // columns on a side of a tile; as in pycupc/engines/gpu/sieve.py
constexpr int WORDS = 4;   // words of a column in shared memory at a time
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

// A stage of shared memory: WORDS words of the columns of both sides. Word c of column j lies at `at(j, c)`, so that the
// eight columns that a warp reads at a time lie in different banks.
struct Stage {
    uint4 word[2][SIDE * WORDS];
    DEVICE static int at(const int j, const int c) { return j * WORDS + (c ^ (j >> 1 & 3)); }
    // Two observations, 2 t and 2 t + 1 of word c, of the column `group` behind column j, a multiple of 8; from: at(group,
    // c), which is the same distance from at(j, 0) for every j.
    DEVICE unsigned two(const int side, const int j, const int from, const int t) const {
        return ((const unsigned*)&word[side][j * WORDS + from])[t];
    }
    // Starts copying the words from w0 on. Whole block.
    DEVICE void load(const uint4* halves, const int words, const int w0, const i64 y0, const i64 x0) {
        UNROLL
        for (int h = 0; h < 4; ++h) {
            const int i = (int)threadIdx.x + (h & 1) * THREADS_OF_TILE, j = i / WORDS, c = i % WORDS;
            if (w0 + c < words) copy16(&word[h >> 1][at(j, c)], halves + ((h >> 1 ? x0 : y0) + j) * words + w0 + c);
        }
    }
};

// The sums of a thread: 4 x 4 products of 16 x 8, see `multiply`.
typedef float Sums[4][4][4];

// Adds the products of a stage, 32 observations or, if `half`, 16. Rows of the warp begin at column y of the tile's left
// side, columns at x of its right side. Whole warp.
DEVICE void add_products(const Stage& stage, Sums& sums, const int y, const int x, const bool half) {
    const int lane = threadIdx.x & 31, group = lane >> 2, t = lane & 3;
    UNROLL
    for (int c = 0; c < WORDS; c += 2) {
        if (c && half) break;
        const int from = Stage::at(group, c), next = Stage::at(group, c + 1);
        unsigned b[4][2];
        UNROLL
        for (int j = 0; j < 4; ++j) {
            b[j][0] = stage.two(1, x + 8 * j, from, t);
            b[j][1] = stage.two(1, x + 8 * j, next, t);
        }
        UNROLL
        for (int i = 0; i < 4; ++i) {
            const int row = y + 16 * i;
            const unsigned a[4] = {stage.two(0, row, from, t), stage.two(0, row + 8, from, t),
                                   stage.two(0, row, next, t), stage.two(0, row + 8, next, t)};
            UNROLL
            for (int j = 0; j < 4; ++j) multiply(sums[i][j], a, b[j]);
        }
    }
}

// The tile of a block. Squares of `group` x `group` tiles are numbered by columns of the upper triangle; their blocks run
// at about the same time, so that their columns stay in the L2 cache.
struct Tile {
    i64 y, x;  // tile numbers
};
DEVICE Tile tile_of(const i64 square, const int inner, const int group) {
    i64 J = (i64)((sqrt(8.0 * (double)square + 1.0) - 1.0) / 2.0);
    while (J * (J + 1) / 2 > square) --J;
    while ((J + 1) * (J + 2) / 2 <= square) ++J;
    return {(square - J * (J + 1) / 2) * group + inner % group, J * group + inner / group};
}

// Writes the pairs of a tile whose |sum| exceeds the threshold, or is NaN. Whole block.
DEVICE void write_pairs(const Sums& sums, const i64 y, const i64 x, const int p, const float threshold, const u64 room,
                        u64* count, u64* pairs) {
    __shared__ int partial[32];
    __shared__ u64 base;
    const int lane = threadIdx.x & 31, group = lane >> 2, t = lane & 3;
    u64 hits = 0;
    UNROLL
    for (int h = 0; h < 64; ++h) {
        const int i = h >> 4, j = h >> 2 & 3, q = h & 3;
        const i64 row = y + 16 * i + group + 8 * (q >> 1), column = x + 8 * j + 2 * t + (q & 1);
        hits |= (u64)(!(fabsf(sums[i][j][q]) <= threshold) && row < column && column < p) << h;
    }
    if (!__syncthreads_or(hits != 0)) return;
    int total = 0;
    const int before = scan_over_block(__popc((unsigned)hits) + __popc((unsigned)(hits >> 32)), partial, total);
    if (threadIdx.x == 0) base = atomicAdd(count, (u64)total);
    __syncthreads();
    for (u64 at = base + before; hits; hits &= hits - 1, ++at) {
        const unsigned low = (unsigned)hits, high = (unsigned)(hits >> 32);
        const int h = low ? __ffs((int)low) - 1 : 31 + __ffs((int)high), i = h >> 4, j = h >> 2 & 3, q = h & 3;
        const i64 row = y + 16 * i + group + 8 * (q >> 1), column = x + 8 * j + 2 * t + (q & 1);
        if (at < room) pairs[at] = (u64)(row * p + column);
    }
}

// The pairs that may be dependent given the empty set.
//   Work    a block has a tile of SIDE x SIDE pairs, a warp 64 x 32 of them; tiles below the diagonal return at once
//   Launch  grid group^2 per square of tiles, block 256
//   first      the square of the first block
//   group      tiles on a side of a square
//   threshold  cutoff - margin, rounded down
//   count      [1] number of pairs; beyond `room` they are only counted
//   pairs      [room] i p + j of each pair i < j, in any order
//   stop       [1] a non-zero value makes the kernel return
//   Template argument LONG: whether there are more than STRETCH observations.
template <bool LONG>
__global__ void __launch_bounds__(THREADS_OF_TILE, LONG ? 1 : 2)
    pick_pairs(const uint4* __restrict__ halves, const int words, const int p, const float threshold, const i64 first,
               const int group, const u64 room, u64* count, u64* pairs, const volatile int* stop) {
    __shared__ Stage stages[2];
    const Tile tile = tile_of(first + blockIdx.x / (group * group), blockIdx.x % (group * group), group);
    const i64 y0 = tile.y * SIDE, x0 = tile.x * SIDE;
    if (y0 > x0 || x0 >= p) return;
    if (__syncthreads_or(threadIdx.x == 0 && *stop)) return;
    const int warp = threadIdx.x >> 5, y = (warp >> 2) * 64, x = (warp & 3) * 32;
    Sums sums = {}, all = {};
    stages[0].load(halves, words, 0, y0, x0);
    for (int w0 = 0, turn = 0; w0 < words; w0 += WORDS, ++turn) {
        arrived();
        __syncthreads();
        if (w0 + WORDS < words) stages[~turn & 1].load(halves, words, w0 + WORDS, y0, x0);
        add_products(stages[turn & 1], sums, y, x, words - w0 < WORDS);
        if (LONG && (turn & (STRETCH / (8 * WORDS) - 1)) == STRETCH / (8 * WORDS) - 1) {
            UNROLL
            for (int h = 0; h < 64; ++h) {
                all[h >> 4][h >> 2 & 3][h & 3] += sums[h >> 4][h >> 2 & 3][h & 3];
                sums[h >> 4][h >> 2 & 3][h & 3] = 0.0f;
            }
        }
    }
    if (LONG) {
        UNROLL
        for (int h = 0; h < 64; ++h) sums[h >> 4][h >> 2 & 3][h & 3] += all[h >> 4][h >> 2 & 3][h & 3];
    }
    write_pairs(sums, y0 + y, x0 + x, p, threshold, room, count, pairs);
}
