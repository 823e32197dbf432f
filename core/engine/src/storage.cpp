// Storages. A small host storage is one pool block, 64 bytes of header with the data behind it; others are a
// header and a block of their space's allocator.
#include <new>

#include "deferred.h"
#include "host_pool.h"
#include "segments.h"
#include "storage_internal.h"
#include "tenora/error.h"
#include "tenora/stream.h"

namespace tenora {
namespace {

constexpr unsigned kHeaderClass = class_of(sizeof(Storage));

Storage* new_header() { return new (pool_take(kHeaderClass)) Storage; }
void free_header(Storage* s) { pool_give(s, kHeaderClass); }

void release_foreign(void* release, void* owner) { reinterpret_cast<void (*)(void*)>(release)(owner); }

void release_inline(void* s, void*) { pool_give(s, static_cast<Storage*>(s)->size_class); }

[[gnu::noinline]] void destroy_foreign(Storage* s) {
    uint64_t streams = s->streams.load(std::memory_order_acquire);
    auto release = reinterpret_cast<void*>(s->foreign_release);
    void* owner = s->owner;
    free_header(s);
    if (!release) return;
    if (streams) {
        when_passed(streams, release_foreign, release, owner);
    } else {
        release_foreign(release, owner);
    }
}

[[gnu::noinline]] void destroy_block(Storage* s) {
    count_live(Count::Bytes, -int64_t(s->bytes));
    if (s->block) {
        CachingAllocator& allocator = space(s->device).allocator(s->device.index);
        allocator.release(static_cast<Block*>(s->block), s->streams.load(std::memory_order_acquire));
    }
    free_header(s);
}

}  // namespace

Storage* allocate_storage_slow(size_t bytes, Device device) {
    Storage* s = new_header();
    s->device = device;
    s->bytes = bytes;
    if (bytes) {
        try {
            Stream* stream = current_stream(device);
            if (stream) s->stream_slot = stream->slot;
            s->block = space(device).allocator(device.index).allocate(bytes, stream, &s->data);
        } catch (...) {
            free_header(s);
            throw;
        }
    }
    count_live(Count::Storages, 1);
    count_live(Count::Bytes, int64_t(bytes));
    return s;
}

StorageRef allocate(size_t bytes, Device device) {
    return StorageRef::steal(allocate_storage(bytes, device));
}

StorageRef adopt(void* data, size_t bytes, Device device, bool read_only, void* owner,
                 void (*release)(void*)) {
    check_device(device);
    Storage* s = new_header();
    s->data = data;
    s->bytes = bytes;
    s->device = device;
    s->read_only = read_only;
    s->owner = owner;
    s->foreign_release = release;
    s->kind = kForeignStorage;
    count_live(Count::Storages, 1);
    return StorageRef::steal(s);
}

void Storage::destroy(Storage* s) {
    count_live(Count::Storages, -1);
    if (s->kind == kInlineStorage) [[likely]] {
        count_live(Count::Bytes, -int64_t(s->bytes));
        uint64_t streams = s->streams.load(std::memory_order_acquire);
        if (streams) [[unlikely]]
            return when_passed(streams, release_inline, s, nullptr);
        pool_give(s, s->size_class);
    } else if (s->kind == kForeignStorage) {
        destroy_foreign(s);
    } else {
        destroy_block(s);
    }
}

}  // namespace tenora
