// gather, scatter, scatter_add, index, index_put, count_values.
//
//   - All indices of a call are checked before anything is written.
//   - The update kernels get an output that already holds the old values.
//   - Accumulating kernels add in the order of the indices;
//     half types in a float copy of the output, rounded once.
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "element.h"
#include "indices.h"
#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

template <class F>
auto with_size(tnr_dtype dtype, F&& f) {
    switch (kSizes[dtype]) {
        case 1:
            return f(Type<uint8_t>());
        case 2:
            return f(Type<uint16_t>());
        case 4:
            return f(Type<uint32_t>());
        case 8:
            return f(Type<uint64_t>());
        default:
            return f(Type<Bytes16>());
    }
}

int32_t run_gather(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &index = *call->in[1], &out = *call->out[0];
    const int dim = along_dim(call, x);
    const int64_t size = x.ndim == 0 ? 1 : x.shape[dim];
    const int32_t status = check_indices(call, index, 0, dim, size);
    if (status != TNR_OK) return status;
    const Without from(x, dim);
    return with_size(dtype_of(x), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        const T* data = static_cast<const T*>(x.data);
        const int64_t* positions = static_cast<const int64_t*>(index.data);
        walk_elements<3>(out.ndim, out.shape, {out.strides, index.strides, from.strides},
                         [&](const int64_t* at) {
                             static_cast<T*>(out.data)[at[0]] = data[at[2] + positions[at[1]] * from.along];
                         });
        return TNR_OK;
    });
}

int32_t run_scatter(const tnr_call* call) {
    const DLTensor &index = *call->in[1], &src = *call->in[2], &out = *call->out[0];
    const int dim = along_dim(call, out);
    const int32_t status = check_indices(call, index, 0, dim, out.ndim == 0 ? 1 : out.shape[dim]);
    if (status != TNR_OK) return status;
    const Without to(out, dim);
    return with_size(dtype_of(out), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        const int64_t* positions = static_cast<const int64_t*>(index.data);
        walk_elements<3>(index.ndim, index.shape, {to.strides, index.strides, src.strides},
                         [&](const int64_t* at) {
                             static_cast<T*>(out.data)[at[0] + positions[at[1]] * to.along] =
                                 static_cast<const T*>(src.data)[at[2]];
                         });
        return TNR_OK;
    });
}

// out += x, bool is "or".
template <class T>
void add_to(T& out, T x, bool boolean) {
    if constexpr (is_half<T>)
        out = narrow<T>(to_float(out) + to_float(x));
    else if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        out = boolean ? static_cast<T>(out | x) : static_cast<T>(static_cast<U>(out) + static_cast<U>(x));
    } else
        out += x;
}

// Half types are summed in a float copy of the output and rounded once.
class FloatCopy {
  public:
    explicit FloatCopy(const DLTensor& out) : out_(out), dtype_(dtype_of(out)) {
        wide_.resize(static_cast<size_t>(count_of(out)));
        int64_t expected = 1;
        for (int d = out.ndim - 1; d >= 0; --d) {
            strides[d] = expected;
            expected *= out.shape[d];
        }
        move(true);
    }
    void write_back() { move(false); }
    float* data() { return wide_.data(); }
    int64_t strides[kMaxRank];

  private:
    void move(bool in) {
        char* data = static_cast<char*>(out_.data);
        walk_elements<2>(out_.ndim, out_.shape, {out_.strides, strides}, [&](const int64_t* at) {
            char* half = data + at[0] * 2;
            float* wide = wide_.data() + at[1];
            if (in)
                tables.cast[dtype_][TNR_F32](wide, half, 1);
            else
                tables.cast[TNR_F32][dtype_](half, wide, 1);
        });
    }
    const DLTensor& out_;
    tnr_dtype dtype_;
    std::vector<float> wide_;
};

template <class Body>
int32_t with_memory(const tnr_call* call, Body&& body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(call, TNR_OUT_OF_MEMORY, "no memory for a float copy of the output");
    }
}

template <class T, class Out>
void scatter_add_into(Out* data, const int64_t* strides, int64_t along, const DLTensor& index,
                      const DLTensor& src, bool boolean) {
    const int64_t* positions = static_cast<const int64_t*>(index.data);
    walk_elements<3>(index.ndim, index.shape, {strides, index.strides, src.strides}, [&](const int64_t* at) {
        Out& target = data[at[0] + positions[at[1]] * along];
        const T x = static_cast<const T*>(src.data)[at[2]];
        if constexpr (is_half<T>)
            target += to_float(x);
        else
            add_to(target, x, boolean);
    });
}

int32_t run_scatter_add(const tnr_call* call) {
    const DLTensor &index = *call->in[1], &src = *call->in[2], &out = *call->out[0];
    const int dim = along_dim(call, out);
    const int32_t status = check_indices(call, index, 0, dim, out.ndim == 0 ? 1 : out.shape[dim]);
    if (status != TNR_OK) return status;
    const tnr_dtype dtype = dtype_of(out);
    return with_memory(call, [&]() -> int32_t {
        return with_type(dtype, [&](auto type) -> int32_t {
            using T = typename decltype(type)::type;
            if constexpr (is_half<T>) {
                FloatCopy wide(out);
                DLTensor dense = out;
                dense.strides = wide.strides;
                const Without to(dense, dim);
                scatter_add_into<T>(wide.data(), to.strides, to.along, index, src, false);
                wide.write_back();
            } else {
                const Without to(out, dim);
                scatter_add_into<T>(static_cast<T*>(out.data), to.strides, to.along, index, src,
                                    dtype == TNR_BOOL);
            }
            return TNR_OK;
        });
    });
}

// The indexed dimensions of `t` come first. Resolves index tensors to offsets, in elements.
struct Positions {
    const tnr_call* call;
    const DLTensor& indexed;
    int first, count;  // index tensors in[first] .. in[first + count - 1], all of one shape

    int32_t check(bool from_the_end = true) const {
        for (int k = 0; k < count; ++k) {
            const int64_t size = indexed.shape[k];
            const int32_t status =
                check_indices(call, *call->in[first + k], from_the_end ? -size : 0, k, size);
            if (status != TNR_OK) return status;
        }
        return TNR_OK;
    }
    const DLTensor& shape() const { return *call->in[first]; }

    // Whether the other tensor's places for indices lie closer together than its remaining elements, `step`
    // apart, so that all indices of one place are better taken together.
    bool innermost(const int64_t* lead_strides, int64_t step) const {
        const int lead = shape().ndim;
        return lead > 0 && std::abs(lead_strides[lead - 1]) < std::abs(step);
    }
    // What `each` gives, as a list. May throw std::bad_alloc.
    using Pairs = std::vector<std::pair<int64_t, int64_t>>;
    Pairs pairs(const int64_t* other_strides) const {
        Pairs found;
        found.reserve(static_cast<size_t>(count_of(shape())));
        each(other_strides, [&](int64_t at, int64_t other) { found.emplace_back(at, other); });
        return found;
    }

    // f(offset into `indexed`, offset into the other tensor) in row-major order of the index shape.
    template <class F>
    void each(const int64_t* other_strides, F&& f) const {
        const DLTensor& s = shape();
        int64_t index[kMaxRank] = {}, other = 0, at[kMaxRank] = {};
        for (int d = 0; d < s.ndim; ++d) {
            if (s.shape[d] == 0) return;
        }
        while (true) {
            int64_t offset = 0;
            for (int k = 0; k < count; ++k) {
                const int64_t i = static_cast<const int64_t*>(call->in[first + k]->data)[at[k]];
                offset += (i < 0 ? i + indexed.shape[k] : i) * indexed.strides[k];
            }
            f(offset, other);
            int d = s.ndim - 1;
            for (; d >= 0; --d) {
                other += other_strides[d];
                for (int k = 0; k < count; ++k) at[k] += call->in[first + k]->strides[d];
                if (++index[d] < s.shape[d]) break;
                other -= other_strides[d] * s.shape[d];
                for (int k = 0; k < count; ++k) at[k] -= call->in[first + k]->strides[d] * s.shape[d];
                index[d] = 0;
            }
            if (d < 0) return;
        }
    }
};

// `index` counts negative places from the end; `index_select` refuses them.
template <bool kFromTheEnd>
int32_t run_index(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &out = *call->out[0];
    const Positions positions{call, x, 1, call->n_in - 1};
    const int32_t status = positions.check(kFromTheEnd);
    if (status != TNR_OK || count_of(out) == 0) return status;
    const int lead = positions.shape().ndim, rest = x.ndim - positions.count;
    const int64_t* rest_shape = x.shape + positions.count;
    const int64_t* rest_strides = x.strides + positions.count;
    int64_t inner = 1, expected = 1;
    bool dense = true;
    for (int d = rest - 1; d >= 0; --d) {
        dense &= rest_shape[d] == 1 || (rest_strides[d] == expected && out.strides[lead + d] == expected);
        expected *= rest_shape[d];
        inner *= rest_shape[d];
    }
    return with_size(dtype_of(x), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        T* o = static_cast<T*>(out.data);
        const T* data = static_cast<const T*>(x.data);
        const Walk<2> walk(rest, rest_shape, {out.strides + lead, rest_strides});
        if (!dense && positions.innermost(out.strides, walk.step(0))) {
            return with_memory(call, [&]() -> int32_t {
                const Positions::Pairs pairs = positions.pairs(out.strides);
                walk([&](const int64_t* at) {
                    for (const auto& [from, to] : pairs) o[to + at[0]] = data[from + at[1]];
                });
                return TNR_OK;
            });
        }
        positions.each(out.strides, [&](int64_t from, int64_t to) {
            if (dense) {
                std::memcpy(o + to, data + from, static_cast<size_t>(inner) * sizeof(T));
            } else {
                walk([&](const int64_t* at) { o[to + at[0]] = data[from + at[1]]; });
            }
        });
        return TNR_OK;
    });
}

template <class T, class Out>
void put(const Positions& positions, Out* data, const int64_t* strides, const DLTensor& values,
         bool accumulate, bool boolean) {
    const int lead = positions.shape().ndim, rest = positions.indexed.ndim - positions.count;
    const int64_t* rest_shape = positions.indexed.shape + positions.count;
    const T* x = static_cast<const T*>(values.data);
    const auto write = [&](int64_t to, int64_t from) {
        Out& target = data[to];
        if constexpr (is_half<T> && std::is_same_v<Out, float>)
            target += to_float(x[from]);
        else if (accumulate)
            add_to(target, x[from], boolean);
        else
            target = x[from];
    };
    const Walk<2> walk(rest, rest_shape, {strides + positions.count, values.strides + lead});
    if (positions.innermost(values.strides, walk.step(1))) {
        const Positions::Pairs pairs = positions.pairs(values.strides);
        walk([&](const int64_t* at) {
            for (const auto& [to, from] : pairs) write(to + at[0], from + at[1]);
        });
        return;
    }
    positions.each(values.strides, [&](int64_t to, int64_t from) {
        walk([&](const int64_t* at) { write(to + at[0], from + at[1]); });
    });
}

int32_t run_index_put(const tnr_call* call) {
    const DLTensor &values = *call->in[1], &out = *call->out[0];
    const Positions positions{call, out, 2, call->n_in - 2};
    const int32_t status = positions.check();
    if (status != TNR_OK || count_of(values) == 0) return status;
    const bool accumulate = int_attr(call, 0, 0) != 0;
    const tnr_dtype dtype = dtype_of(out);
    return with_memory(call, [&]() -> int32_t {
        return with_type(dtype, [&](auto type) -> int32_t {
            using T = typename decltype(type)::type;
            if constexpr (is_half<T>) {
                if (accumulate) {
                    FloatCopy wide(out);
                    DLTensor dense = out;
                    dense.strides = wide.strides;
                    put<T>(Positions{call, dense, 2, call->n_in - 2}, wide.data(), wide.strides, values, true,
                           false);
                    wide.write_back();
                    return TNR_OK;
                }
            }
            put<T>(positions, static_cast<T*>(out.data), out.strides, values, accumulate, dtype == TNR_BOOL);
            return TNR_OK;
        });
    });
}

// How often each number below the output's length occurs; operands are contiguous.
int32_t run_count_values(const tnr_call* call) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    const int64_t length = count_of(out);
    int64_t* counts = static_cast<int64_t*>(out.data);
    if (length > 0) std::memset(counts, 0, static_cast<size_t>(length) * sizeof(int64_t));
    const int64_t* values = static_cast<const int64_t*>(in.data);
    for (int64_t i = 0, n = count_of(in); i < n; ++i) {
        if (values[i] < 0 || values[i] >= length) return out_of_bounds(call, values[i], 0, length);
        ++counts[values[i]];
    }
    return TNR_OK;
}

}  // namespace

void add_indexing(Kernels& kernels) {
    add_kernel(kernels, "gather", run_gather, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "scatter", run_scatter, TNR_MASK_ALL, kAnyLayout | TNR_KERNEL_INPLACE);
    add_kernel(kernels, "scatter_add", run_scatter_add, TNR_MASK_ALL, kAnyLayout | TNR_KERNEL_INPLACE);
    add_kernel(kernels, "index_select", run_index<false>, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "index", run_index<true>, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "index_put", run_index_put, TNR_MASK_ALL, kAnyLayout | TNR_KERNEL_INPLACE);
    add_kernel(kernels, "count_values", run_count_values, TNR_MASK(TNR_I64), 0);
}

}  // namespace tenora::cpu
