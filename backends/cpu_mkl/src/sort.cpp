// sort: stable, NaN counts as largest, values and positions.
#include <algorithm>
#include <new>
#include <vector>

#include "element.h"
#include "kernels.h"
#include "lines.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

template <class V>
struct Entry {
    V value;
    int64_t position;
};

template <class V>
bool below(V a, V b) {
    if constexpr (std::is_floating_point_v<V>)
        return a < b || (b != b && a == a);
    else
        return a < b;
}

template <class T>
int32_t sort_lines(const DLTensor& in, const DLTensor& values, const DLTensor& positions, int dim,
                   bool descending) {
    using V = decltype(value_of(T()));
    const int64_t n = line_length(in, dim), stride = line_stride(in, dim);
    std::vector<Entry<V>> line(static_cast<size_t>(n));
    each_line<3>({&in, &values, &positions}, dim, [&](const int64_t* at) {
        const T* x = static_cast<const T*>(in.data) + at[0];
        for (int64_t i = 0; i < n; ++i) line[static_cast<size_t>(i)] = {value_of(x[i * stride]), i};
        if (descending) {
            std::stable_sort(line.begin(), line.end(),
                             [](const auto& a, const auto& b) { return below(b.value, a.value); });
        } else {
            std::stable_sort(line.begin(), line.end(),
                             [](const auto& a, const auto& b) { return below(a.value, b.value); });
        }
        T* out = static_cast<T*>(values.data) + at[1];
        int64_t* where = static_cast<int64_t*>(positions.data) + at[2];
        for (int64_t i = 0; i < n; ++i) {
            const int64_t from = line[static_cast<size_t>(i)].position;
            out[i * line_stride(values, dim)] = x[from * stride];
            where[i * line_stride(positions, dim)] = from;
        }
    });
    return TNR_OK;
}

int32_t run_sort(const tnr_call* call) {
    const DLTensor& in = *call->in[0];
    if (count_of(in) == 0) return TNR_OK;
    const int dim = line_dim(call, 0, in);
    const bool descending = int_attr(call, 1, 0) != 0;
    try {
        return with_type(dtype_of(in), [&](auto type) -> int32_t {
            using T = typename decltype(type)::type;
            if constexpr (is_complex<T>)
                return unsupported(call);
            else
                return sort_lines<T>(in, *call->out[0], *call->out[1], dim, descending);
        });
    } catch (const std::bad_alloc&) {
        return fail(call, TNR_OUT_OF_MEMORY, "no memory for the line being sorted");
    }
}

}  // namespace

void add_sorts(Kernels& kernels) {
    add_kernel(kernels, "sort", run_sort, TNR_MASK_ALL & ~TNR_MASK_COMPLEX, kAnyLayout);
}

}  // namespace tenora::cpu
