// matmul, linear, addmm: from descriptors to matrix products.
//
//   - Leading dimensions of A and C that run on without a gap become rows when B is the same for all of them.
//   - Half types are widened to float, multiplied, rounded once. Other dtypes take a plain triple loop.
#include <complex>
#include <new>
#include <vector>

#include "element.h"
#include "kernels.h"
#include "matrix.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

template <class T>
struct Total {
    using type = T;
};
template <>
struct Total<std::complex<float>> {
    using type = std::complex<double>;
};

template <class T>
void plain_product(const Gemm& g, bool boolean) {
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, typename Total<T>::type>;
    const T *a = static_cast<const T*>(g.a), *b = static_cast<const T*>(g.b);
    T* c = static_cast<T*>(g.c);
    for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.n; ++j) {
            Sum sum = 0;
            for (int64_t p = 0; p < g.k; ++p) {
                const Sum x = static_cast<Sum>(a[i * g.a_row + p * g.a_col]),
                          y = static_cast<Sum>(b[p * g.b_row + j * g.b_col]);
                if constexpr (std::is_integral_v<T>)
                    sum = boolean ? (sum | (x & y)) : sum + x * y;
                else
                    sum += x * y;
            }
            T& target = c[i * g.c_row + j * g.c_col];
            if (boolean) {
                if constexpr (std::is_integral_v<T>)
                    target = static_cast<T>(g.accumulate ? (target | static_cast<T>(sum)) : sum);
            } else {
                target = static_cast<T>(g.accumulate ? static_cast<Sum>(target) + sum : sum);
            }
        }
    }
}

// A strided matrix as a dense float one, and back.
void widen(std::vector<float>& out, const void* data, int64_t rows, int64_t columns, int64_t row,
           int64_t column, tnr_dtype dtype) {
    out.resize(static_cast<size_t>(rows * columns));
    const char* from = static_cast<const char*>(data);
    for (int64_t i = 0; i < rows; ++i) {
        float* target = out.data() + i * columns;
        if (column == 1) {
            tables.cast[dtype][TNR_F32](target, from + i * row * 2, columns);
        } else {
            for (int64_t j = 0; j < columns; ++j)
                tables.cast[dtype][TNR_F32](target + j, from + (i * row + j * column) * 2, 1);
        }
    }
}

int32_t half_product(const Gemm& g, tnr_dtype dtype) {
    std::vector<float> a, b, c, bias;
    widen(a, g.a, g.m, g.k, g.a_row, g.a_col, dtype);
    widen(b, g.b, g.k, g.n, g.b_row, g.b_col, dtype);
    if (g.accumulate)
        widen(c, g.c, g.m, g.n, g.c_row, g.c_col, dtype);
    else
        c.resize(static_cast<size_t>(g.m * g.n));
    if (g.bias) widen(bias, g.bias, 1, g.n, 0, g.bias_stride, dtype);
    const Gemm wide{g.m,
                    g.n,
                    g.k,
                    a.data(),
                    b.data(),
                    c.data(),
                    g.k,
                    1,
                    g.n,
                    1,
                    g.n,
                    1,
                    g.accumulate,
                    g.alpha,
                    g.bias ? bias.data() : nullptr,
                    1};
    const int32_t status = tables.gemm[TNR_F32](wide);
    char* out = static_cast<char*>(g.c);
    for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.n; ++j) {
            tables.cast[TNR_F32][dtype](out + (i * g.c_row + j * g.c_col) * 2, c.data() + i * g.n + j, 1);
        }
    }
    return status;
}

// C is contiguous along neither rows nor columns: through a dense one.
template <class T>
int32_t scattered_product(const Gemm& g, tnr_dtype dtype) {
    std::vector<T> dense(static_cast<size_t>(g.m * g.n));
    Gemm inner = g;
    inner.c = dense.data();
    inner.c_row = g.n;
    inner.c_col = 1;
    T* c = static_cast<T*>(g.c);
    for (int64_t i = 0; g.accumulate && i < g.m * g.n; ++i)
        dense[static_cast<size_t>(i)] = c[i / g.n * g.c_row + i % g.n * g.c_col];
    const int32_t status = tables.gemm[dtype](inner);
    for (int64_t i = 0; i < g.m * g.n; ++i)
        c[i / g.n * g.c_row + i % g.n * g.c_col] = dense[static_cast<size_t>(i)];
    return status;
}

}  // namespace

int32_t matrix_product(const Gemm& g, tnr_dtype dtype) {
    if (GemmFn fast = tables.gemm[dtype]) {
        if (g.c_row == 1 || g.c_col == 1 || g.m == 1 || g.n == 1) return fast(g);
        return dtype == TNR_F32 ? scattered_product<float>(g, dtype) : scattered_product<double>(g, dtype);
    }
    return with_type(dtype, [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        if constexpr (is_half<T>)
            return half_product(g, dtype);
        else
            plain_product<T>(g, dtype == TNR_BOOL);
        return TNR_OK;
    });
}

int32_t guarded(const tnr_call* call, int32_t (*body)(const tnr_call*)) {
    int32_t status = TNR_OUT_OF_MEMORY;
    try {
        status = body(call);
    } catch (const std::bad_alloc&) {
    }
    return status == TNR_OUT_OF_MEMORY
               ? fail(call, status, "no memory for the packed operands of a matrix product")
               : status;
}

namespace {

// One batch dimension is walked at a time; the last call multiplies.
struct Batches {
    Gemm g;
    tnr_dtype dtype;
    size_t size;
    const DLTensor &a, &b, &c;

    int32_t run(int d) {
        if (d == c.ndim - 2) return matrix_product(g, dtype);
        const Gemm start = g;
        for (int64_t i = 0; i < c.shape[d]; ++i) {
            g.a = static_cast<const char*>(start.a) + i * a.strides[d] * static_cast<int64_t>(size);
            g.b = static_cast<const char*>(start.b) + i * b.strides[d] * static_cast<int64_t>(size);
            g.c = static_cast<char*>(start.c) + i * c.strides[d] * static_cast<int64_t>(size);
            const int32_t status = run(d + 1);
            if (status != TNR_OK) return status;
        }
        return TNR_OK;
    }
};

// A (B..., M, K), B (B..., K, N), C (B..., M, N), equal batch dimensions.
int32_t product(const tnr_call* call) {
    const DLTensor &a = *call->in[0], &b = *call->in[1], &c = *call->out[0];
    const int last = c.ndim - 1, row = c.ndim - 2;
    Gemm g{c.shape[row],
           c.shape[last],
           a.shape[last],
           a.data,
           b.data,
           c.data,
           a.strides[row],
           a.strides[last],
           b.strides[row],
           b.strides[last],
           c.strides[row],
           c.strides[last],
           call->accumulate != 0,
           1.0,
           nullptr,
           1};
    const tnr_dtype dtype = dtype_of(a);
    if (row == 0) return matrix_product(g, dtype);
    bool shared = true;
    int64_t a_next = g.a_row * g.m, c_next = g.c_row * g.m, rows = g.m;
    for (int d = row - 1; d >= 0; --d) {
        shared &= c.shape[d] == 1 || (b.strides[d] == 0 && a.strides[d] == a_next && c.strides[d] == c_next);
        a_next *= c.shape[d];
        c_next *= c.shape[d];
        rows *= c.shape[d];
    }
    if (shared && g.m > 0) {
        g.m = rows;
        return matrix_product(g, dtype);
    }
    return Batches{g, dtype, kSizes[dtype], a, b, c}.run(0);
}

int32_t run_matmul(const tnr_call* call) { return guarded(call, product); }

}  // namespace

void add_matmul(Kernels& kernels) {
    add_kernel(kernels, "matmul", run_matmul, TNR_MASK_ALL, kAnyLayout | TNR_KERNEL_ACCUMULATE);
}

}  // namespace tenora::cpu
