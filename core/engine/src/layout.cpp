#include <algorithm>

#include "geometry.h"

namespace tenora {

bool view_strides(std::span<const int64_t> shape, std::span<const int64_t> strides,
                  std::span<const int64_t> size, int64_t* out) {
    int64_t numel = 1;
    for (int64_t s : shape) numel *= s;
    if (numel == 0) {
        if (std::equal(shape.begin(), shape.end(), size.begin(), size.end()))
            std::copy(strides.begin(), strides.end(), out);
        else
            dense_strides(size, out);
        return true;
    }
    if (shape.empty()) {
        std::fill(out, out + size.size(), 1);
        return true;
    }
    // Walk chunks of dimensions that lie together, from the back, and spread each over the new dimensions.
    int64_t d = int64_t(size.size()) - 1;
    int64_t base = strides.back(), old_count = 1, new_count = 1;
    for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i) {
        old_count *= shape[size_t(i)];
        bool chunk_ends = i == 0 || (shape[size_t(i - 1)] != 1 && strides[size_t(i - 1)] != old_count * base);
        if (!chunk_ends) continue;
        while (d >= 0 && (new_count < old_count || size[size_t(d)] == 1)) {
            out[d] = new_count * base;
            new_count *= size[size_t(d)];
            --d;
        }
        if (new_count != old_count) return false;
        if (i > 0) {
            base = strides[size_t(i - 1)];
            old_count = new_count = 1;
        }
    }
    return d == -1;
}

bool broadcast_strides(const Tensor* t, std::span<const int64_t> shape, int64_t* strides) {
    int lead = int(shape.size()) - t->rank();
    if (lead < 0) return false;
    for (int k = 0; k < int(shape.size()); ++k) {
        int64_t have = k < lead ? 1 : t->dl.shape[k - lead];
        bool own = k >= lead && have == shape[size_t(k)];
        if (!own && have != 1) return false;
        strides[k] = own ? t->dl.strides[k - lead] : 0;
    }
    return true;
}

static int64_t known_product(const Infer& c, std::span<const int64_t> size, int* unknown) {
    int64_t known =
        std::ranges::find(size, 0) == size.end();  // of no elements, however large the other sizes
    *unknown = -1;
    for (size_t i = 0; i < size.size(); ++i) {
        if (size[i] == -1 && *unknown < 0) {
            *unknown = int(i);
        } else if (size[i] == -1) {
            refuse(c, ErrorKind::Runtime, "shape", "only one size can be inferred: got ", size,
                   ", expected at most one -1. Write the other sizes out.");
        } else if (size[i] < 0) {
            refuse(c, ErrorKind::Runtime, "shape", "negative size: got ", size,
                   ", expected sizes of 0 or more, or one -1. Correct the sizes.");
        } else {
            known = mul_checked(c, known, size[i]);
        }
    }
    return known;
}

int infer_size(const Infer& c, std::span<const int64_t> size, int64_t numel, int64_t* out) {
    if (size.size() > size_t(kMaxRank))
        refuse(c, ErrorKind::Runtime, "shape", "too many dimensions: got ", size.size(),
               ", expected at most ", kMaxRank, ". Use fewer dimensions.");
    int unknown;
    int64_t known = known_product(c, size, &unknown);
    if (unknown >= 0 && known == 0 && numel == 0)
        refuse(c, ErrorKind::Runtime, "shape", "the size of -1 is ambiguous: got ", size,
               " for a tensor of 0 elements, expected no -1 beside a 0. Write the size out.");
    bool fits = unknown < 0 ? known == numel : known != 0 && numel % known == 0;
    if (!fits)
        refuse(c, ErrorKind::Runtime, "shape", "wrong number of elements: got ", size, " for ", numel,
               " elements, expected sizes whose product is ", numel, ". Correct the sizes.");
    std::copy(size.begin(), size.end(), out);
    if (unknown >= 0) out[unknown] = numel / known;
    return int(size.size());
}

void check_inside(const Infer& c, const OutMeta& m, size_t elements) {
    int64_t low = m.offset, high = m.offset;
    bool empty = false;
    for (int i = 0; i < m.rank; ++i) {
        empty = empty || m.shape[i] == 0;
        if (m.shape[i] < 2) continue;
        int64_t reach = mul_checked(c, m.shape[i] - 1, m.strides[i]);
        (reach < 0 ? low : high) = add_checked(c, reach < 0 ? low : high, reach);
    }
    if (m.offset >= 0 && (empty || (low >= 0 && high < int64_t(elements)))) return;
    refuse(c, ErrorKind::Runtime, "shape", "window leaves the storage: got elements ", low, " to ", high,
           ", expected 0 to ", int64_t(elements) - 1, ". Correct size, stride or storage_offset.");
}

// Dimensions of more than one element, sorted by stride.
static int sorted_dims(const Tensor* t, int64_t* shape, int64_t* strides) {
    int n = 0;
    for (int i = 0; i < t->rank(); ++i) {
        if (t->shape()[size_t(i)] == 1) continue;
        int64_t size = t->shape()[size_t(i)], stride = t->strides()[size_t(i)];
        if (stride < 0) stride = -stride;
        int at = n++;
        for (; at > 0 && strides[at - 1] > stride; --at) {
            strides[at] = strides[at - 1];
            shape[at] = shape[at - 1];
        }
        strides[at] = stride;
        shape[at] = size;
    }
    return n;
}

bool overlaps_itself(const Tensor* t) {
    if (t->contiguous || t->numel < 2) return false;
    int64_t shape[kMaxRank], strides[kMaxRank];
    int n = sorted_dims(t, shape, strides);
    int64_t reach = 0;  // largest offset of the smaller dimensions
    bool nested = true;
    for (int i = 0; i < n; ++i) {
        if (strides[i] == 0) return true;
        nested = nested && strides[i] > reach;
        reach += (shape[i] - 1) * strides[i];
    }
    // More elements than places is certain; other cases are left to the caller, as in PyTorch.
    return !nested && t->numel > reach + 1;
}

bool non_overlapping_dense(const Tensor* t) {
    if (t->contiguous) return true;
    int64_t shape[kMaxRank], strides[kMaxRank];
    int n = sorted_dims(t, shape, strides);
    int64_t expected = 1;
    for (int i = 0; i < n; ++i) {
        if (strides[i] != expected) return false;
        expected *= shape[i];
    }
    return true;
}

Extent extent(const Tensor* t) {
    const char* base = static_cast<const char*>(t->dl.data);
    if (!t->numel) return {base, base};
    int64_t low = 0, high = 0;
    for (int i = 0; i < t->rank(); ++i) {
        int64_t reach = (t->shape()[size_t(i)] - 1) * t->strides()[size_t(i)];
        (reach < 0 ? low : high) += reach;
    }
    int64_t item = int64_t(size_of(t->dtype));
    return {base + low * item, base + (high + 1) * item};
}

bool share_memory(const Tensor* a, const Tensor* b) {
    if (a->device.space != b->device.space) return false;
    Extent x = extent(a), y = extent(b);
    return x.begin < y.end && y.begin < x.end;
}

bool same_window(const Tensor* a, const Tensor* b) {
    if (a->dl.data != b->dl.data || a->dtype != b->dtype || a->rank() != b->rank()) return false;
    for (int i = 0; i < a->rank(); ++i) {
        size_t k = size_t(i);
        if (a->shape()[k] != b->shape()[k]) return false;
        if (a->shape()[k] != 1 && a->strides()[k] != b->strides()[k]) return false;
    }
    return true;
}

}  // namespace tenora
