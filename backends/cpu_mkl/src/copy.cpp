// copy (cast, clone, assignment), fill, iota.
//
//   - Same dtype, dense: one memcpy. Same dtype, transposed:
//     square tiles, so that both sides use whole cache lines.
//   - Another dtype: rows through the cast table, strided ones by way of stack buffers.
#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

constexpr int64_t kTile = 16;

// rows x columns elements: in is contiguous along rows, out along columns.
template <class T>
void transpose(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows,
               int64_t columns) {
    for (int64_t r = 0; r < rows; r += kTile) {
        const int64_t r_end = r + kTile < rows ? r + kTile : rows;
        for (int64_t c = 0; c < columns; c += kTile) {
            const int64_t c_end = c + kTile < columns ? c + kTile : columns;
            for (int64_t i = r; i < r_end; ++i) {
                T* o = reinterpret_cast<T*>(out + i * out_stride);
                const char* x = in + i * static_cast<int64_t>(sizeof(T));
                for (int64_t j = c; j < c_end; ++j) o[j] = *reinterpret_cast<const T*>(x + j * in_stride);
            }
        }
    }
}

// A dimension along which the input is contiguous while the row of the plan is not; -1 if there is none.
int transposed_dimension(const Plan<2>& plan, int64_t size) {
    if (plan.row_stride(0) != size || plan.row_stride(1) == size || plan.row() < 4) return -1;
    for (int d = plan.rank - 2; d >= 0; --d) {
        if (plan.stride[1][d] == size && plan.shape[d] >= 4) return d;
    }
    return -1;
}

int32_t copy_transposed(Plan<2> plan, int across, size_t size) {
    const int last = plan.rank - 1;
    const int64_t columns = plan.shape[last], in_stride = plan.stride[1][last];
    const int64_t rows = plan.shape[across], out_stride = plan.stride[0][across];
    // The two dimensions of the tiles leave the walk: `across` is overwritten by the one before last.
    plan.shape[across] = plan.shape[last - 1];
    plan.stride[0][across] = plan.stride[0][last - 1];
    plan.stride[1][across] = plan.stride[1][last - 1];
    plan.rank = last;
    return plan.walk([&](char* const* at) -> int32_t {
        switch (size) {
            case 1:
                transpose<uint8_t>(at[0], out_stride, at[1], in_stride, rows, columns);
                break;
            case 2:
                transpose<uint16_t>(at[0], out_stride, at[1], in_stride, rows, columns);
                break;
            case 4:
                transpose<uint32_t>(at[0], out_stride, at[1], in_stride, rows, columns);
                break;
            case 8:
                transpose<uint64_t>(at[0], out_stride, at[1], in_stride, rows, columns);
                break;
            default:
                transpose<Bytes16>(at[0], out_stride, at[1], in_stride, rows, columns);
        }
        return TNR_OK;
    });
}

int32_t copy_same(const tnr_call* call, const DLTensor* in, size_t size) {
    const Plan<2> plan = plan_of<2>(*call->out[0], &in, {size, size});
    const int across = plan.empty ? -1 : transposed_dimension(plan, static_cast<int64_t>(size));
    if (across >= 0) return copy_transposed(plan, across, size);
    const int64_t n = plan.row(), out_stride = plan.row_stride(0), in_stride = plan.row_stride(1);
    return plan.walk([&](char* const* at) -> int32_t {
        if (out_stride == static_cast<int64_t>(size))
            pack(at[0], at[1], in_stride, n, size);
        else if (in_stride == static_cast<int64_t>(size))
            unpack(at[0], out_stride, at[1], n, size);
        else
            for (int64_t i = 0; i < n; ++i) std::memcpy(at[0] + i * out_stride, at[1] + i * in_stride, size);
        return TNR_OK;
    });
}

int32_t run_copy(const tnr_call* call) {
    const DLTensor &in = *call->in[call->n_in - 1], &out = *call->out[0];
    const tnr_dtype from = dtype_of(in), to = dtype_of(out);
    const CastRow row = tables.cast[from][to];
    if (call->flat && call->n_in == 1 && !call->host_scalar_mask) {
        row(out.data, in.data, count_of(out));
        return TNR_OK;
    }
    const size_t in_size = kSizes[from], out_size = kSizes[to];
    const DLTensor* source = &in;
    if (from == to) return copy_same(call, source, in_size);
    const Plan<2> plan = plan_of<2>(out, &source, {out_size, in_size});
    const int64_t n = plan.row(), out_stride = plan.row_stride(0), in_stride = plan.row_stride(1);
    const bool dense =
        out_stride == static_cast<int64_t>(out_size) && in_stride == static_cast<int64_t>(in_size);
    return plan.walk([&](char* const* at) -> int32_t {
        if (dense || n == 1) {
            row(at[0], at[1], n);
            return TNR_OK;
        }
        alignas(64) char x[kChunk * 16], y[kChunk * 16];
        for (int64_t i = 0; i < n; i += kChunk) {
            const int64_t m = n - i < kChunk ? n - i : kChunk;
            pack(x, at[1] + i * in_stride, in_stride, m, in_size);
            row(y, x, m);
            unpack(at[0] + i * out_stride, out_stride, y, m, out_size);
        }
        return TNR_OK;
    });
}

// A number of an attribute, converted to `dtype`.
void scalar_as(const tnr_call* call, int i, tnr_dtype dtype, void* out) {
    const tnr_attr& a = call->attr[i];
    const bool real = a.kind == TNR_ATTR_F64 || (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_F64);
    tables.cast[real ? TNR_F64 : TNR_I64][dtype](
        out, real ? static_cast<const void*>(&a.value.f64) : &a.value.i64, 1);
}

template <class T>
void fill_run(char* out, int64_t stride, const void* value, int64_t n) {
    T v;
    std::memcpy(&v, value, sizeof(T));
    if (stride == sizeof(T)) {
        T* o = reinterpret_cast<T*>(out);
        for (int64_t i = 0; i < n; ++i) o[i] = v;
    } else {
        for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * stride, &v, sizeof(T));
    }
}

void fill_elements(char* out, int64_t stride, const void* value, int64_t n, size_t size) {
    switch (size) {
        case 1:
            return fill_run<uint8_t>(out, stride, value, n);
        case 2:
            return fill_run<uint16_t>(out, stride, value, n);
        case 4:
            return fill_run<uint32_t>(out, stride, value, n);
        case 8:
            return fill_run<uint64_t>(out, stride, value, n);
        default:
            return fill_run<Bytes16>(out, stride, value, n);
    }
}

int32_t run_fill(const tnr_call* call) {
    const DLTensor& out = *call->out[0];
    const tnr_dtype dtype = dtype_of(out);
    const size_t size = kSizes[dtype];
    alignas(16) char value[16];
    if (call->n_attr > 0)
        scalar_as(call, 0, dtype, value);
    else
        tables.cast[dtype_of(*call->in[call->n_in - 1])][dtype](value, call->in[call->n_in - 1]->data, 1);
    if (call->flat) {
        fill_elements(static_cast<char*>(out.data), static_cast<int64_t>(size), value, count_of(out), size);
        return TNR_OK;
    }
    const Plan<1> plan = plan_of<1>(out, call->in, {size});
    return plan.walk([&](char* const* at) -> int32_t {
        fill_elements(at[0], plan.row_stride(0), value, plan.row(), size);
        return TNR_OK;
    });
}

// start + i * step; in int64 if both are whole, else in double. Converted to the dtype once.
int32_t run_iota(const tnr_call* call) {
    const DLTensor& out = *call->out[0];
    const tnr_dtype dtype = dtype_of(out);
    const auto real = [&](int i) {
        return call->attr[i].kind == TNR_ATTR_F64 ||
               (call->attr[i].kind == TNR_ATTR_SCALAR && call->attr[i].dtype == TNR_F64);
    };
    const bool whole = !real(0) && !real(1);
    const uint64_t first = static_cast<uint64_t>(int_attr(call, 0, 0)),
                   by = static_cast<uint64_t>(int_attr(call, 1, 1));
    const double start = number_attr(call, 0, 0), step = number_attr(call, 1, 1);
    const size_t size = kSizes[dtype];
    const int64_t n = count_of(out), stride = (out.ndim ? out.strides[0] : 1) * static_cast<int64_t>(size);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = n - i < kChunk ? n - i : kChunk;
        union {
            int64_t whole[kChunk];
            double real[kChunk];
        } values;
        alignas(64) char converted[kChunk * 16];
        for (int64_t j = 0; j < m; ++j) {
            if (whole)
                values.whole[j] = static_cast<int64_t>(first + static_cast<uint64_t>(i + j) * by);
            else
                values.real[j] = start + static_cast<double>(i + j) * step;
        }
        tables.cast[whole ? TNR_I64 : TNR_F64][dtype](converted, &values, m);
        unpack(static_cast<char*>(out.data) + i * stride, stride, converted, m, size);
    }
    return TNR_OK;
}

}  // namespace

void add_copies(Kernels& kernels) {
    add_kernel(kernels, "copy", run_copy, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "fill", run_fill, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "iota", run_iota, TNR_MASK_ALL, kAnyLayout);
}

}  // namespace tenora::cpu
