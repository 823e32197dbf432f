// sort, topk and the median of all elements.
//
//   - Equal elements keep their order and NaN counts as largest, whichever way is up: elements become keys.
//   - Long lines are sorted by digits of 8 bits: short keys the lowest first, but for digits that all
//     elements share; long keys the highest first, as few of their eight digits tell elements apart.
#include <algorithm>
#include <new>
#include <vector>

#include "kernels.h"
#include "lines.h"
#include "sort_keys.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

constexpr int64_t kShortLine = 96;        // sorted by comparisons
constexpr int64_t kFewEntries = 32;       // of one digit, the same
constexpr int64_t kLongLine = INT32_MAX;  // positions of short keys have 32 bits

// Sorts n entries; the result is in `from` or `to`, and is returned.
template <class T>
Entry<T>* by_digits(Entry<T>* from, Entry<T>* to, int64_t n) {
    constexpr int kDigits = sizeof(Key<T>);
    std::vector<uint32_t> counts(kDigits * 256, 0);
    for (int64_t i = 0; i < n; ++i) {
        for (int d = 0; d < kDigits; ++d)
            ++counts[static_cast<size_t>(d * 256) + (from[i].key >> (8 * d) & 255)];
    }
    for (int d = 0; d < kDigits; ++d) {
        uint32_t* digit = counts.data() + d * 256;
        if (digit[from[0].key >> (8 * d) & 255] == n) continue;
        uint32_t total = 0;
        for (int value = 0; value < 256; ++value) {
            const uint32_t count = digit[value];
            digit[value] = total;
            total += count;
        }
        for (int64_t i = 0; i < n; ++i) to[digit[from[i].key >> (8 * d) & 255]++] = from[i];
        std::swap(from, to);
    }
    return from;
}

// Sorts n entries by the digits below `bits`, the highest first; `spare` has room for as many.
template <class T>
void by_leading_digits(Entry<T>* entries, Entry<T>* spare, int64_t n, int bits) {
    if (n <= kFewEntries || bits <= 0) {
        if (bits > 0) std::sort(entries, entries + n, before<T>);
        return;
    }
    const int shift = bits > 8 ? bits - 8 : 0;
    uint32_t ends[256] = {};
    for (int64_t i = 0; i < n; ++i) ++ends[entries[i].key >> shift & 255];
    if (ends[entries[0].key >> shift & 255] == n) return by_leading_digits<T>(entries, spare, n, shift);
    uint32_t total = 0;
    for (uint32_t& end : ends) {
        const uint32_t count = end;
        end = total;
        total += count;
    }
    for (int64_t i = 0; i < n; ++i) spare[ends[entries[i].key >> shift & 255]++] = entries[i];
    std::copy(spare, spare + n, entries);
    int64_t begin = 0;
    for (const uint32_t end : ends) {
        if (end - begin > 1) by_leading_digits<T>(entries + begin, spare, end - begin, shift);
        begin = end;
    }
}

template <class T>
struct Line {
    std::vector<Entry<T>> entries, others;
    int64_t n, stride;
    bool descending;

    Line(const DLTensor& in, int dim, bool down)
        : entries(static_cast<size_t>(line_length(in, dim))),
          n(line_length(in, dim)),
          stride(line_stride(in, dim)),
          descending(down) {}

    void read(const T* x) {
        using Position = decltype(Entry<T>::position);
        for (int64_t i = 0; i < n; ++i)
            entries[static_cast<size_t>(i)] = {key_of(x[i * stride], descending), static_cast<Position>(i)};
    }
    const Entry<T>* sorted() {
        if (n <= kShortLine || n > kLongLine) {
            std::sort(entries.begin(), entries.end(), before<T>);
            return entries.data();
        }
        others.resize(entries.size());
        if constexpr (sizeof(Key<T>) == 8) {
            uint64_t differ = 0;
            for (const Entry<T>& e : entries) differ |= e.key ^ entries[0].key;
            by_leading_digits<T>(entries.data(), others.data(), n, differ ? 64 - __builtin_clzll(differ) : 0);
            return entries.data();
        }
        return by_digits<T>(entries.data(), others.data(), n);
    }
    const Entry<T>* first(int64_t k) {
        if (k > n / 8) return sorted();
        std::partial_sort(entries.begin(), entries.begin() + k, entries.end(), before<T>);
        return entries.data();
    }
};

// The first k of every line in order, and where they were.
template <class T>
int32_t order_lines(const tnr_call* call, int dim, int64_t k, bool descending) {
    const DLTensor &in = *call->in[0], &values = *call->out[0], &positions = *call->out[1];
    Line<T> line(in, dim, descending);
    if (sizeof(T) <= 4 && line.n > int64_t{UINT32_MAX}) return TNR_NOT_SUPPORTED;
    each_line<3>({&in, &values, &positions}, dim, [&](const int64_t* at) {
        const T* x = static_cast<const T*>(in.data) + at[0];
        line.read(x);
        const Entry<T>* found = line.first(k);
        T* out = static_cast<T*>(values.data) + at[1];
        int64_t* where = static_cast<int64_t*>(positions.data) + at[2];
        for (int64_t i = 0; i < k; ++i) {
            const int64_t from = static_cast<int64_t>(found[i].position);
            out[i * line_stride(values, dim)] = x[from * line.stride];
            where[i * line_stride(positions, dim)] = from;
        }
    });
    return TNR_OK;
}

template <class F>
int32_t for_ordered(const tnr_call* call, F&& f) {
    try {
        return with_type(dtype_of(*call->in[0]), [&](auto type) -> int32_t {
            using T = typename decltype(type)::type;
            if constexpr (is_complex<T>)
                return unsupported(call);
            else
                return f(type);
        });
    } catch (const std::bad_alloc&) {
        return fail(
            call, TNR_OUT_OF_MEMORY,
            "no memory for the line being sorted: got none, expected room for its keys. Sort shorter lines.");
    }
}

int32_t run_sort(const tnr_call* call) {
    const DLTensor& in = *call->in[0];
    if (count_of(in) == 0) return TNR_OK;
    const int dim = line_dim(call, 0, in);
    return for_ordered(call, [&](auto type) {
        using T = typename decltype(type)::type;
        return order_lines<T>(call, dim, line_length(in, dim), int_attr(call, 1, 0) != 0);
    });
}

int32_t run_topk(const tnr_call* call) {
    if (count_of(*call->out[0]) == 0) return TNR_OK;
    const int dim = line_dim(call, 1, *call->in[0]);
    return for_ordered(call, [&](auto type) {
        using T = typename decltype(type)::type;
        return order_lines<T>(call, dim, line_length(*call->out[0], dim), int_attr(call, 2, 1) != 0);
    });
}

// The stable order of keys of 62 bits, the high bits of two words each: what randperm asks for.
int32_t run_random_order(const tnr_call* call) {
    const DLTensor& in = *call->in[0];
    const int64_t n = count_of(*call->out[0]);
    if (in.ndim != 2 || in.shape[1] != 2 || in.shape[0] != n)
        return fail(call, TNR_BAD_VALUE, "no pairs of words: got another shape, expected (n, 2)");
    const uint32_t* words = static_cast<const uint32_t*>(in.data);
    int64_t* out = static_cast<int64_t*>(call->out[0]->data);
    try {
        std::vector<Entry<int64_t>> entries(static_cast<size_t>(n)), others(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) {
            const uint64_t high = words[2 * i] >> 1, low = words[2 * i + 1] >> 1;
            entries[static_cast<size_t>(i)] = {high << 31 | low, i};
        }
        if (n > kLongLine)
            std::sort(entries.begin(), entries.end(), before<int64_t>);
        else
            by_leading_digits<int64_t>(entries.data(), others.data(), n, 62);
        for (int64_t i = 0; i < n; ++i) out[i] = entries[static_cast<size_t>(i)].position;
        return TNR_OK;
    } catch (const std::bad_alloc&) {
        return fail(call, TNR_OUT_OF_MEMORY, "no memory for the keys of an order");
    }
}

// The lower median of all elements: NaN where there is one, or of the numbers alone.
template <class T>
int32_t median_of(const tnr_call* call, bool numbers_only) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    if (count_of(out) != 1)
        return fail(call, TNR_NOT_SUPPORTED,
                    "no kernel: got a dim, expected the median of all elements. Use median(x, dim).");
    std::vector<Key<T>> keys;
    keys.reserve(static_cast<size_t>(count_of(in)));
    const T *data = static_cast<const T*>(in.data), *missing = nullptr;
    for (int64_t i = 0, n = count_of(in); i < n; ++i) {
        if (value_of(data[i]) != value_of(data[i]))
            missing = data + i;
        else
            keys.push_back(key_of(data[i], false));
    }
    T& target = *static_cast<T*>(out.data);
    if (keys.empty() || (missing && !numbers_only)) {
        if (!missing)
            return fail(call, TNR_NOT_SUPPORTED,
                        "no kernel: got no elements, expected some. Use a dtype with NaN.");
        target = *missing;
        return TNR_OK;
    }
    const auto middle = keys.begin() + static_cast<int64_t>(keys.size() - 1) / 2;
    std::nth_element(keys.begin(), middle, keys.end());
    const T* found = data;
    while (key_of(*found, false) != *middle) ++found;
    target = *found;
    return TNR_OK;
}

template <bool kNumbersOnly>
int32_t run_median(const tnr_call* call) {
    return for_ordered(call, [&](auto type) {
        using T = typename decltype(type)::type;
        return median_of<T>(call, kNumbersOnly);
    });
}

}  // namespace

void add_sorts(Kernels& kernels) {
    const uint32_t ordered = TNR_MASK_ALL & ~TNR_MASK_COMPLEX;
    add_kernel(kernels, "sort", run_sort, ordered, kAnyLayout);
    add_kernel(kernels, "random_order", run_random_order, TNR_MASK(TNR_U32), 0);
    add_kernel(kernels, "topk", run_topk, ordered, kAnyLayout);
    add_kernel(kernels, "median_all", run_median<false>, ordered & ~TNR_MASK(TNR_BOOL), 0);
    add_kernel(kernels, "nanmedian_all", run_median<true>, ordered & ~TNR_MASK(TNR_BOOL), 0);
}

}  // namespace tenora::cpu
