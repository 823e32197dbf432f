// Tensors.
//   - A tensor is one pool block: the header, whose dimensions lie inline,
//     and room for more behind it when the rank asks for it. A tensor that
//     outgrows its block (set_window) takes a second one for its dimensions.
//   - A tensor with history hands it to the tape's work list
//     before it goes, so that a long history never recurses.
#include "tenora/tensor.h"

#include <cstring>
#include <new>
#include <string>

#include "host_pool.h"
#include "storage_internal.h"
#include "tenora/error.h"
#include "tenora/hooks.h"
#include "tenora/modes.h"
#include "tenora/tape.h"

namespace tenora {
namespace {

constexpr size_t kDimsBytes =
    size_t{2} * kMaxRank * sizeof(int64_t);  // a second block for dimensions has room for any rank

constexpr unsigned kTensorClass = class_of(sizeof(Tensor));

constexpr size_t tensor_bytes(int rank) {
    return sizeof(Tensor) + (rank > kInlineRank ? size_t(rank - kInlineRank) * 2 * sizeof(int64_t) : 0);
}

// A tensor with room for `rank` dimensions and everything else at its default.
Tensor* new_header(size_t rank) {
    void* block =
        rank <= size_t(kInlineRank) ? pool_take(kTensorClass) : pool_allocate(tensor_bytes(int(rank)));
    auto* t = new (block) Tensor;
    t->block_rank = uint8_t(rank <= size_t(kInlineRank) ? size_t(kInlineRank) : rank);
    t->dl.ndim = int32_t(rank);
    t->dl.shape = t->inline_dims;
    t->dl.strides = t->inline_dims + rank;
    t->inference = modes().inference;
    return t;
}

void set_type(Tensor* t, DType dtype, Device device) {
    t->dtype = dtype;
    t->device = device;
    t->dl.dtype = info(dtype).dl;
    t->dl.device = DLDevice{space(device).functions.dlpack_type, device.index};
}

void free_header(Tensor* t) {
    if (t->dl.shape != t->inline_dims) [[unlikely]]
        pool_release(t->dl.shape, kDimsBytes);
    if (t->block_rank == kInlineRank) {
        pool_give(t, kTensorClass);
    } else {
        pool_release(t, tensor_bytes(t->block_rank));
    }
}

void* element_address(const Storage* storage, int64_t offset,
                      DType dtype) {  // integers: an empty storage has no pointer to move
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(storage->data) +
                                   uintptr_t(offset) * size_of(dtype));
}

// Every element of the window lies in the storage. 128 bits: strides come from users.
void check_bounds(const Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides,
                  int64_t offset, DType dtype) {
    __extension__ using Wide = __int128;
    if (shape.size() != strides.size()) {
        fail(ErrorKind::Runtime, "shape", "as_strided",
             "shape and strides differ: got " + std::to_string(shape.size()) + " sizes and " +
                 std::to_string(strides.size()) +
                 " strides, expected as many of each. Give one stride per dimension.");
    }
    Wide low = offset, high = offset;
    for (size_t i = 0; i < shape.size(); ++i) {
        Wide reach = Wide(shape[i] - 1) * strides[i];
        (reach < 0 ? low : high) += reach;
    }
    Wide end = (high + 1) * Wide(size_of(dtype));
    if (offset >= 0 && low >= 0 && end <= Wide(storage->bytes)) return;
    fail(ErrorKind::Runtime, "shape", "as_strided",
         "window outside its storage: got elements " +
             (low < 0 ? std::string("below 0") : "from " + std::to_string(int64_t(low))) +
             " on with an end beyond the storage or a start before it (offset " + std::to_string(offset) +
             ", " + std::string(info(dtype).name) + "), expected it within " +
             std::to_string(storage->bytes) + " bytes. Correct size, stride or offset.");
}

void fill_window(Tensor* t, Storage* storage, std::span<const int64_t> shape,
                 std::span<const int64_t> strides, int64_t numel, int64_t offset) {
    std::memmove(t->dl.shape, shape.data(), shape.size_bytes());
    std::memmove(t->dl.strides, strides.data(), strides.size_bytes());
    t->numel = numel;
    t->offset = offset;
    t->storage = storage;
    t->contiguous = is_dense(shape, strides);
    t->dl.data = element_address(storage, offset, t->dtype);
}

// The common end: sole owner of a small host storage, both
// blocks back to the thread's lists; false when it is not so.
inline bool try_finish_small(Tensor* t) {
    ThreadState* state = thread_state;
    Storage* s = t->storage;
    if (!state || !s || s->kind != kInlineStorage || !s->unique()) return false;
    if (t->block_rank != kInlineRank || t->dl.shape != t->inline_dims) return false;
    if (s->streams.load(std::memory_order_acquire)) return false;
    add_owned(state->counts[size_t(Count::Tensors)], int64_t{-1});
    add_owned(state->counts[size_t(Count::Storages)], int64_t{-1});
    add_owned(state->counts[size_t(Count::Bytes)], -int64_t(s->bytes));
    unsigned c = s->size_class;
    if (!try_push(state, s, c)) pool_give_slow(s, c);
    if (!try_push(state, t, kTensorClass)) pool_give_slow(t, kTensorClass);
    return true;
}

void finish(Tensor* t) {
    if (try_finish_small(t)) return;
    if (t->storage) t->storage->release();
    count_live(Count::Tensors, -1);
    free_header(t);
}

}  // namespace

namespace {

// The common case, a small host tensor, in two moves from the
// thread's lists and without a call; null when it is not so.
inline Tensor* try_small_tensor(std::span<const int64_t> shape, DType dtype, Device device) {
    ThreadState* state = thread_state;
    size_t rank = shape.size();
    if (!state || device != Device{} || rank > size_t(kInlineRank)) return nullptr;
    int64_t strides[kInlineRank];
    uint64_t numel = 1;
    bool large = false;
    for (size_t i = rank; i-- > 0;) {
        strides[i] = int64_t(numel);
        numel *= uint64_t(shape[i]);
        large |= uint64_t(shape[i]) - 1 >=
                 kInlineData;  // so small that five of them cannot overflow; 0 and negative are out
    }
    const DTypeInfo& type = info(dtype);
    size_t bytes = numel * type.size;
    if (large || !small_data_size(bytes)) return nullptr;
    unsigned data_class = class_of(bytes + sizeof(Storage));
    void* storage_block = try_pop(state, data_class);
    if (!storage_block) return nullptr;
    void* block = try_pop(state, kTensorClass);
    if (!block) {
        pool_give(storage_block, data_class);
        return nullptr;
    }
    auto* t = new (block) Tensor;
    Storage* storage = make_inline_storage(storage_block, data_class, bytes, device);
    t->dtype = dtype;
    t->device = device;
    t->inference = modes().inference;
    t->block_rank = uint8_t(kInlineRank);
    t->dl = DLTensor{storage->data,
                     DLDevice{1, device.index},
                     int32_t(rank),
                     type.dl,
                     t->inline_dims,
                     t->inline_dims + rank,
                     0};
    for (size_t i = 0; i < rank; ++i) {
        t->inline_dims[i] = shape[i];
        t->inline_dims[rank + i] = strides[i];
    }
    t->numel = int64_t(numel);
    t->storage = storage;
    add_owned(state->counts[size_t(Count::Tensors)], int64_t{1});
    add_owned(state->counts[size_t(Count::Storages)], int64_t{1});
    add_owned(state->counts[size_t(Count::Bytes)], int64_t(bytes));
    return t;
}

[[gnu::noinline]] Tensor* new_tensor_slow(std::span<const int64_t> shape, DType dtype, Device device) {
    int64_t numel = checked_numel(shape, "empty");
    size_t bytes;
    if (__builtin_mul_overflow(size_t(numel), size_of(dtype), &bytes)) bytes = SIZE_MAX;
    Storage* storage = allocate_storage(bytes, device);
    Tensor* t;
    try {
        t = new_header(shape.size());
    } catch (...) {
        storage->release();
        throw;
    }
    set_type(t, dtype, device);
    for (size_t i = 0; i < shape.size(); ++i) t->dl.shape[i] = shape[i];
    dense_strides(shape, t->dl.strides);
    t->numel = numel;
    t->storage = storage;
    t->dl.data = storage->data;
    count_live(Count::Tensors, 1);
    return t;
}

}  // namespace

TensorRef new_tensor(std::span<const int64_t> shape, DType dtype, Device device) {
    Tensor* t = try_small_tensor(shape, dtype, device);
    return TensorRef::steal(t ? t : new_tensor_slow(shape, dtype, device));
}

TensorRef new_window(Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides,
                     int64_t offset, DType dtype, Device device) {
    int64_t numel = checked_numel(shape, "as_strided");
    if (numel) check_bounds(storage, shape, strides, offset, dtype);
    Tensor* t = new_header(shape.size());
    set_type(t, dtype, device);
    storage->retain();
    fill_window(t, storage, shape, strides, numel, offset);
    count_live(Count::Tensors, 1);
    return TensorRef::steal(t);
}

TensorRef alias(Tensor* source) {
    size_t rank = size_t(source->rank());
    Tensor* t = new_header(rank);
    t->dtype = source->dtype;
    t->device = source->device;
    t->contiguous = source->contiguous;
    t->inference = source->inference;
    int64_t *shape = t->dl.shape, *strides = t->dl.strides;
    t->dl = source->dl;
    t->dl.shape = shape;
    t->dl.strides = strides;
    t->numel = source->numel;
    t->offset = source->offset;
    for (size_t i = 0; i < rank; ++i) {
        shape[i] = source->dl.shape[i];
        strides[i] = source->dl.strides[i];
    }
    t->storage = source->storage;
    t->storage->retain();
    count_live(Count::Tensors, 1);
    return TensorRef::steal(t);
}

void set_window(Tensor* t, Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides,
                int64_t offset, DType dtype) {
    int64_t numel = checked_numel(shape, "set_");
    if (numel) check_bounds(storage, shape, strides, offset, dtype);
    int64_t copy[2 * kMaxRank];  // the new dimensions may be a part of the old ones
    size_t rank = shape.size();
    std::memcpy(copy, shape.data(), shape.size_bytes());
    std::memcpy(copy + rank, strides.data(), strides.size_bytes());
    if (t->dl.shape == t->inline_dims && rank > t->block_rank) {
        t->dl.shape = static_cast<int64_t*>(pool_allocate(kDimsBytes));
    }
    t->dl.ndim = int32_t(rank);
    t->dl.strides = t->dl.shape + rank;
    set_type(t, dtype, storage->device);
    storage->retain();
    Storage* old = t->storage;
    fill_window(t, storage, {copy, rank}, {copy + rank, rank}, numel, offset);
    if (!old) return;
    if (old->saved.load(std::memory_order_relaxed)) storage->saved.store(true, std::memory_order_relaxed);
    old->release();
}

void Tensor::destroy(Tensor* t) {
    if (t->node || t->extra) [[unlikely]]
        release_autograd(t);
    finish(t);
}

void Tensor::keep_retain(Tensor* t) {
    if (auto hook = hooks().keep_retain) hook(t);
}

void Tensor::keep_release(Tensor* t) {
    if (auto hook = hooks().keep_release) hook(t);
}

Live live() {
    return Live{live_total(Count::Tensors), live_total(Count::Storages), live_total(Count::Nodes),
                live_total(Count::Extras),  live_total(Count::Programs), live_total(Count::Bytes)};
}

void count_live_node(int delta) { count_live(Count::Nodes, delta); }
void count_live_extra(int delta) { count_live(Count::Extras, delta); }
void count_live_program(int delta) { count_live(Count::Programs, delta); }

}  // namespace tenora
