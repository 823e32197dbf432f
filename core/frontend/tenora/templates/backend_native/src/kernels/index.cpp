// Gather, scatter and indexing with tensors of places.
//   - Every place is checked before anything is written.
//   - What is only moved is moved as bytes; sums are held in a wide type and rounded once.
//   - Outputs of scatter, scatter_add and index_put hold the input already.
#include "kernels.h"

namespace newbackend {
namespace {

// Refuses the first place outside lowest .. size - 1.
int32_t check_places(const tnr_call* call, const DLTensor& index, int64_t size, int64_t dim, int64_t lowest) {
    int32_t status = TNR_OK;
    walk<1>(shape_of(index), {index.strides}, [&](const auto& at) {
        const int64_t place = data_of<const int64_t>(index)[at[0]];
        if (status == TNR_OK && (place < lowest || place >= size))
            status = refuse(
                call, TNR_INDEX_ERROR, "index %lld is out of bounds for dimension %lld with size %lld",
                static_cast<long long>(place), static_cast<long long>(dim), static_cast<long long>(size));
    });
    return status;
}

// Offsets into one tensor, one for each element of another in row-major order.
using Places = std::vector<int64_t>;

// target[index[i][j]][j] for dim 0, in the order of index.
int32_t places_along(const tnr_call* call, const DLTensor& target, Places& places) {
    const DLTensor& index = *call->in[1];
    const int64_t dim = whole_attr(call, 0);
    if (count_of(shape_of(index)) == 0) return TNR_OK;  // may then have any rank
    const int64_t size = target.ndim ? target.shape[dim] : 1, step = target.ndim ? target.strides[dim] : 0;
    std::array<int64_t, kMaxRank> others{};
    std::copy_n(target.strides, target.ndim, others.begin());
    if (target.ndim) others[size_t(dim)] = 0;
    walk<2>(shape_of(index), {index.strides, others.data()},
            [&](const auto& at) { places.push_back(at[1] + data_of<const int64_t>(index)[at[0]] * step); });
    return check_places(call, index, size, dim, 0);
}

// target[first index][second index]..., then all of the rest: indexed dimensions come first in `target`.
int32_t places_of_indices(const tnr_call* call, int first, const DLTensor& target, const DLTensor& other,
                          Places& places) {
    const int count = call->n_in - first, rank = call->in[first]->ndim;
    std::vector<int64_t> heads(size_t(count_of(shape_of(*call->in[first]))));
    for (int k = 0; k < count; ++k) {
        const DLTensor& index = *call->in[first + k];
        const int64_t size = target.shape[k];
        if (int32_t status = check_places(call, index, size, k, -size)) return status;
        size_t i = 0;
        walk<1>(shape_of(index), {index.strides}, [&](const auto& at) {
            const int64_t place = data_of<const int64_t>(index)[at[0]];
            heads[i++] += (place < 0 ? place + size : place) * target.strides[k];
        });
    }
    const std::span<const int64_t> rest = shape_of(other).subspan(size_t(rank));
    for (int64_t head : heads)
        walk<1>(rest, {target.strides + count}, [&](const auto& at) { places.push_back(head + at[0]); });
    return TNR_OK;
}

enum Action { Take, Put, Add };

template <class T>
void add(const DLTensor& far, const Places& places, const DLTensor& near, std::span<const int64_t> shape) {
    const auto [low, high] = std::minmax_element(places.begin(), places.end());
    std::vector<SumOf<T>> sums(size_t(*high - *low) + 1);
    T* out = data_of<T>(far);
    size_t i = 0;
    for (int64_t place : places) sums[size_t(place - *low)] = convert<SumOf<T>>(out[place]);
    walk<1>(shape, {near.strides}, [&](const auto& at) {
        auto&& sum = sums[size_t(places[i++] - *low)];
        sum = Plus{}(SumOf<T>(sum), convert<SumOf<T>>(data_of<const T>(near)[at[0]]));
    });
    for (int64_t place : places) out[place] = convert<T>(SumOf<T>(sums[size_t(place - *low)]));
}

// Between `far` at its places and `near`, whose first elements of `shape` are taken in order.
int32_t act(Action action, const DLTensor& far, const Places& places, const DLTensor& near,
            std::span<const int64_t> shape) {
    if (places.empty()) return TNR_OK;
    if (action == Add) return visit(far.dtype, [&]<class T>(T) { add<T>(far, places, near, shape); });
    const int64_t bytes = far.dtype.bits / 8;
    size_t i = 0;
    walk<1>(shape, {near.strides}, [&](const auto& at) {
        char *a = data_of<char>(far) + places[i++] * bytes, *b = data_of<char>(near) + at[0] * bytes;
        std::copy_n(action == Take ? a : b, bytes, action == Take ? b : a);
    });
    return TNR_OK;
}

template <Action action>
int32_t along(const tnr_call* call) {  // gather, scatter, scatter_add
    Places places;
    const DLTensor &far = action == Take ? *call->in[0] : *call->out[0],
                   &near = action == Take ? *call->out[0] : *call->in[2];
    if (int32_t status = places_along(call, far, places)) return status;
    return act(action, far, places, near, shape_of(*call->in[1]));
}

int32_t index(const tnr_call* call) {
    Places places;
    if (int32_t status = places_of_indices(call, 1, *call->in[0], *call->out[0], places)) return status;
    return act(Take, *call->in[0], places, *call->out[0], shape_of(*call->out[0]));
}

int32_t index_put(const tnr_call* call) {
    Places places;
    if (int32_t status = places_of_indices(call, 2, *call->out[0], *call->in[1], places)) return status;
    return act(whole_attr(call, 0) ? Add : Put, *call->out[0], places, *call->in[1], shape_of(*call->in[1]));
}

}  // namespace

void add_indexing(Kernels& k) {
    k.insert(k.end(), {{"gather", along<Take>, TNR_MASK_ALL, kAnyLayout},
                       {"scatter", along<Put>, TNR_MASK_ALL, kAnyLayout},
                       {"scatter_add", along<Add>, TNR_MASK_ALL, kAnyLayout},
                       {"index", index, TNR_MASK_ALL, kAnyLayout},
                       {"index_put", index_put, TNR_MASK_ALL, kAnyLayout}});
}

}  // namespace newbackend
