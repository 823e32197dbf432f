// Creation of storages, inlined into tensor creation.
#pragma once

#include <new>

#include "host_pool.h"
#include "tenora/tensor.h"

namespace tenora {

enum StorageKind : uint8_t { kBlockStorage, kInlineStorage, kForeignStorage };

Storage* allocate_storage_slow(size_t bytes, Device device);

inline constexpr size_t kInlineData =
    kLinear - sizeof(Storage);  // data up to this size lies behind the header

inline bool small_data_size(size_t bytes) { return bytes - 1 < kInlineData; }  // 0 has no data

// The storage of a block from the pool, whose data lies behind the header.
inline Storage* make_inline_storage(void* block, unsigned c, size_t bytes, Device device) {
    auto* s = new (block) Storage;
    s->data = static_cast<char*>(block) + sizeof(Storage);
    s->bytes = bytes;
    s->device = device;
    s->kind = kInlineStorage;
    s->size_class = uint8_t(c);
    return s;
}

inline Storage* allocate_storage(size_t bytes, Device device) {
#if TENORA_POOL
    if (device == Device{} && small_data_size(bytes)) [[likely]] {
        unsigned c = class_of(bytes + sizeof(Storage));
        Storage* s = make_inline_storage(pool_take(c), c, bytes, device);
        count_live(Count::Storages, 1);
        count_live(Count::Bytes, int64_t(bytes));
        return s;
    }
#endif
    return allocate_storage_slow(bytes, device);
}

}  // namespace tenora
