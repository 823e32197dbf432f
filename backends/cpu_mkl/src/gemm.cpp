// Matrix products of float and double, C (m x n) = alpha A (m x k) B (k x n) (+ bias) (+ C), any strides.
//
//   - C is written along its rows: a C that is contiguous along columns is the transposed problem.
//   - Few rows, both operands along k (a vector times a weight matrix): dot products, nothing packed.
//   - Small: B is read in place if its rows are contiguous,
//     else packed panel by panel on the stack. No allocation.
//   - Large: Goto and van de Geijn's blocking ("Anatomy of
//     High-Performance Matrix Multiplication", 2008) with packed
//     blocks of A and B in memory that belongs to the thread.
//   - Rows are split evenly (32 = 6 + 6 + 5 + 5 + 5 + 5), so no tile is much slower than the others.
#include <utility>

#include "gemm_pack.h"
#include "gemm_tile.h"
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;
#else
constexpr int kRows = 6;
#endif
constexpr int kNarrowRows = 8;  // tiles of one vector
constexpr int64_t kBlockK = 256, kBlockM = 24 * kRows, kBlockN = 2048;
constexpr int64_t kInCacheBytes = 32 * 1024;  // an unpacked B up to here is read in place
constexpr int64_t kStackBytes = 32 * 1024;
constexpr int64_t kStreamedBytes = 256 * 1024;

template <class T>
struct Problem {
    int64_t m, n, k;
    const T *a, *b;
    T* c;
    int64_t a_row, a_col, b_row, b_col, c_row;
    Finish<T> finish;
    const int64_t *b_row_at = nullptr, *b_col_at = nullptr;
};

template <class T>
using TileFn = void (*)(int64_t, const T*, int64_t, int64_t, const T*, int64_t, T*, int64_t, int,
                        const Finish<T>&);

// Tiles by number of rows, 1 first.
template <class T, int kVectors, bool kPartial, int... kRest>
constexpr TileFn<T> tile_of(int rows, std::integer_sequence<int, kRest...>) {
    constexpr TileFn<T> tiles[] = {tile<T, kRest + 1, kVectors, kPartial>...};
    return tiles[rows - 1];
}

template <class T>
TileFn<T> find_tile(int rows, int vectors, bool partial) {
    using Wide = std::make_integer_sequence<int, kRows>;
    using Narrow = std::make_integer_sequence<int, (kRows > kNarrowRows ? kRows : kNarrowRows)>;
    if (vectors == 4) return tile<T, 1, 4, false>;
    if (vectors == 8) return tile<T, 1, 8, false>;
    if (vectors == 2) return partial ? tile_of<T, 2, true>(rows, Wide()) : tile_of<T, 2, false>(rows, Wide());
    return partial ? tile_of<T, 1, true>(rows, Narrow()) : tile_of<T, 1, false>(rows, Narrow());
}

// All rows of A against one panel of at most two vectors of columns.
template <class T>
void rows_by_panel(const Problem<T>& g, int64_t k, const T* a, const T* b, int64_t b_row, T* c, int64_t n,
                   const Finish<T>& finish) {
    constexpr int L = kLanes<T>;
    const int vectors = n > L ? 2 : 1, last = static_cast<int>(n - (vectors - 1) * L);
    const bool partial = last < L;
    const int64_t limit = vectors == 2 ? kRows : (kRows > kNarrowRows ? kRows : kNarrowRows);
    const int64_t blocks = (g.m + limit - 1) / limit, small = g.m / blocks, larger = g.m % blocks;
    const TileFn<T> tile_small = find_tile<T>(static_cast<int>(small), vectors, partial);
    const TileFn<T> tile_larger =
        larger ? find_tile<T>(static_cast<int>(small) + 1, vectors, partial) : nullptr;
    for (int64_t block = 0; block < blocks; ++block) {
        const int64_t rows = block < larger ? small + 1 : small;
        (block < larger ? tile_larger : tile_small)(k, a, g.a_row, g.a_col, b, b_row, c, g.c_row, last,
                                                    finish);
        a += rows * g.a_row;
        c += rows * g.c_row;
    }
}

// B's rows are contiguous and the whole of it stays in the first cache, or is used only a few times.
template <class T>
void in_place(const Problem<T>& g) {
    constexpr int64_t L = kLanes<T>;
    int64_t j = 0;
    Finish<T> finish = g.finish;
    const auto advance = [&](int64_t columns) {
        j += columns;
        if (finish.bias) finish.bias += columns;
    };
    if (g.m == 1) {
        for (const int64_t vectors : {8, 4}) {
            const TileFn<T> wide = find_tile<T>(1, static_cast<int>(vectors), false);
            for (; j + vectors * L <= g.n; advance(vectors * L)) {
                wide(g.k, g.a, g.a_row, g.a_col, g.b + j, g.b_row, g.c + j, g.c_row, 0, finish);
            }
        }
    }
    while (j < g.n) {
        const int64_t columns = g.n - j < 2 * L ? g.n - j : 2 * L;
        rows_by_panel(g, g.k, g.a, g.b + j, g.b_row, g.c + j, columns, finish);
        advance(columns);
    }
}

// Panels of B packed on the stack, one after the other; k in blocks that fit.
template <class T>
void packed_panels(const Problem<T>& g) {
    constexpr int L = kLanes<T>;
    constexpr int64_t depth = kStackBytes / (2 * L * static_cast<int64_t>(sizeof(T)));
    alignas(64) T panel[depth * 2 * L];
    for (int64_t j = 0; j < g.n; j += 2 * L) {
        const int64_t columns = g.n - j < 2 * L ? g.n - j : 2 * L;
        const int width = columns > L ? 2 * L : L;
        Finish<T> finish = g.finish;
        if (finish.bias) finish.bias += j;
        for (int64_t p = 0; p < g.k; p += depth) {
            const int64_t k = g.k - p < depth ? g.k - p : depth;
            pack_b_panel(panel, g.b + p * g.b_row + j * g.b_col, g.b_row, g.b_col, k,
                         static_cast<int>(columns), width);
            rows_by_panel(g, k, g.a + p * g.a_col, panel, width, g.c + j, columns, finish);
            finish.bias = nullptr;
            finish.accumulate = true;
        }
    }
}

// At most three rows, k contiguous in both operands.
template <class T, int kDotRows, int kColumns>
void dot_rows(const Problem<T>& g) {
    for (int64_t j = 0; j < g.n; j += kColumns) {
        const int columns = static_cast<int>(g.n - j < kColumns ? g.n - j : kColumns);
        Finish<T> finish = g.finish;
        if (finish.bias) finish.bias += j;
        dots<T, kDotRows, kColumns>(g.k, g.a, g.a_row, g.b + j * g.b_col, g.b_col, g.c + j, g.c_row, columns,
                                    finish);
    }
}

template <class T>
void few_rows(const Problem<T>& g) {
    if (g.m == 1)
        dot_rows<T, 1, 8>(g);
    else if (g.m == 2)
        dot_rows<T, 2, 4>(g);
    else
        dot_rows<T, 3, 4>(g);
}

// One row times a matrix that no cache holds: a few of its rows at a time, so that memory is read in order.
template <class T>
void one_row_streamed(const Problem<T>& g) {
    constexpr int64_t kDepth = 8;
    Problem<T> part = g;
    for (int64_t p = 0; p < g.k; p += kDepth) {
        part.k = g.k - p < kDepth ? g.k - p : kDepth;
        part.a = g.a + p * g.a_col;
        part.b = g.b + p * g.b_row;
        in_place(part);
        part.finish.bias = nullptr;
        part.finish.accumulate = true;
    }
}

template <class T>
struct Buffers {
    T *a, *b;
};

// One packed block of A against one packed block of B.
template <class T>
void block_by_block(const Problem<T>& g, int64_t rows, int64_t columns, int64_t k, const Buffers<T>& packed,
                    T* c, const Finish<T>& finish) {
    constexpr int L = kLanes<T>;
    const int64_t blocks = (rows + kRows - 1) / kRows, small = rows / blocks, larger = rows % blocks;
    for (int64_t j = 0; j < columns; j += 2 * L) {
        const int64_t n = columns - j < 2 * L ? columns - j : 2 * L;
        const int vectors = n > L ? 2 : 1, last = static_cast<int>(n - (vectors - 1) * L);
        Finish<T> here = finish;
        if (here.bias) here.bias += j;
        int64_t row = 0;
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t r = block < larger ? small + 1 : small;
            const TileFn<T> run = find_tile<T>(static_cast<int>(r), vectors, last < L);
            run(k, packed.a + row * k, 1, r, packed.b + j * k, vectors * L, c + row * g.c_row + j, g.c_row,
                last, here);
            row += r;
        }
    }
}

template <class T>
void pack_a_block(T* out, const T* a, const Problem<T>& g, int64_t rows, int64_t k) {
    const int64_t blocks = (rows + kRows - 1) / kRows, small = rows / blocks, larger = rows % blocks;
    int64_t row = 0;
    for (int64_t block = 0; block < blocks; ++block) {
        const int64_t r = block < larger ? small + 1 : small;
        pack_a_panel(out + row * k, a + row * g.a_row, g.a_row, g.a_col, static_cast<int>(r), k);
        row += r;
    }
}

template <class T>
int32_t blocked(const Problem<T>& g) {
    constexpr int L = kLanes<T>;
    const int64_t width = g.n < kBlockN ? (g.n + 2 * L - 1) / (2 * L) * (2 * L) : kBlockN;
    const int64_t depth = g.k < kBlockK ? g.k : kBlockK;
    thread_local Scratch scratch;
    T* memory = static_cast<T*>(scratch.get(static_cast<size_t>((kBlockM + width) * depth) * sizeof(T)));
    if (!memory) return TNR_OUT_OF_MEMORY;
    const Buffers<T> packed{memory, memory + kBlockM * depth};
    for (int64_t j = 0; j < g.n; j += kBlockN) {
        const int64_t columns = g.n - j < kBlockN ? g.n - j : kBlockN;
        for (int64_t p = 0; p < g.k; p += kBlockK) {
            const int64_t k = g.k - p < kBlockK ? g.k - p : kBlockK;
            for (int64_t q = 0; q < columns; q += 2 * L) {
                const int n = static_cast<int>(columns - q < 2 * L ? columns - q : 2 * L);
                const int panel = n > L ? 2 * L : L;
                if (g.b_row_at) {
                    pack_b_windows(packed.b + q * k, g.b, g.b_row_at + p, g.b_col_at + j + q, k, n, panel);
                } else {
                    pack_b_panel(packed.b + q * k, g.b + p * g.b_row + (j + q) * g.b_col, g.b_row, g.b_col, k,
                                 n, panel);
                }
            }
            Finish<T> finish = g.finish;
            if (p > 0)
                finish = {finish.alpha, nullptr, true};
            else if (finish.bias)
                finish.bias += j;
            for (int64_t i = 0; i < g.m; i += kBlockM) {
                const int64_t rows = g.m - i < kBlockM ? g.m - i : kBlockM;
                pack_a_block(packed.a, g.a + i * g.a_row + p * g.a_col, g, rows, k);
                block_by_block(g, rows, columns, k, packed, g.c + i * g.c_row + j, finish);
            }
        }
    }
    return TNR_OK;
}

template <class T>
int32_t solve(const Problem<T>& g) {
    const int64_t b_bytes = g.k * g.n * static_cast<int64_t>(sizeof(T));
    if (g.m <= 3 && g.a_col == 1 && g.b_row == 1 && g.b_col != 1) {
        few_rows(g);
    } else if (g.m == 1 && g.b_col == 1 && b_bytes > kStreamedBytes && g.k > 1) {
        one_row_streamed(g);
    } else if (g.b_col == 1 && (b_bytes <= kInCacheBytes || g.m <= kRows)) {
        in_place(g);
    } else if (g.m * g.n * g.k <= 128 * 128 * 128 || g.n <= 2 * kLanes<T>) {
        packed_panels(g);
    } else {
        return blocked(g);
    }
    return TNR_OK;
}

// c = bias (+ c), the product of nothing.
template <class T>
void without_product(const Gemm& g) {
    T* c = static_cast<T*>(g.c);
    const T* bias = static_cast<const T*>(g.bias);
    for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.n; ++j) {
            T& target = c[i * g.c_row + j * g.c_col];
            target = (g.accumulate ? target : T(0)) + (bias ? bias[j * g.bias_stride] : T(0));
        }
    }
}

template <class T>
int32_t gemm(const Gemm& g) {
    if (g.m == 0 || g.n == 0) return TNR_OK;
    if (g.k == 0) {
        without_product<T>(g);
        return TNR_OK;
    }
    const Finish<T> finish{static_cast<T>(g.alpha), static_cast<const T*>(g.bias), g.accumulate};
    if (g.b_row_at) {
        return blocked(Problem<T>{g.m, g.n, g.k, static_cast<const T*>(g.a), static_cast<const T*>(g.b),
                                  static_cast<T*>(g.c), g.a_row, g.a_col, 0, 0, g.c_row, finish, g.b_row_at,
                                  g.b_col_at});
    }
    const bool along_columns = (g.c_col != 1 && g.n != 1) || (g.n == 1 && g.c_row == 1 && g.m > 1);
    if (along_columns || (finish.bias && g.bias_stride != 1)) {
        if (finish.bias) {
            // The bias would run along the rows of the transposed problem: it goes in first.
            Gemm first = g, second = g;
            first.k = 0;
            second.bias = nullptr;
            second.accumulate = true;
            const int32_t status = gemm<T>(first);
            return status == TNR_OK ? gemm<T>(second) : status;
        }
        return solve(Problem<T>{g.n, g.m, g.k, static_cast<const T*>(g.b), static_cast<const T*>(g.a),
                                static_cast<T*>(g.c), g.b_col, g.b_row, g.a_col, g.a_row, g.c_col, finish});
    }
    return solve(Problem<T>{g.m, g.n, g.k, static_cast<const T*>(g.a), static_cast<const T*>(g.b),
                            static_cast<T*>(g.c), g.a_row, g.a_col, g.b_row, g.b_col, g.c_row, finish});
}

}  // namespace

void fill_gemm(Tables& t) {
    t.gemm[TNR_F32] = gemm<float>;
    t.gemm[TNR_F64] = gemm<double>;
}

}  // namespace tenora::cpu::TENORA_ISA
