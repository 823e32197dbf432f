// One caching allocator for all spaces. Policy at the top of allocator.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenora/space.h"

namespace tenora {

struct Stream;
struct Block;  // opaque

struct AllocatorStats {
    int64_t live_bytes, live_bytes_peak, reserved_bytes, reserved_bytes_peak, live_blocks, allocations,
        raw_allocations, raw_releases, cached_bytes, splits, merges, out_of_memory, retries;
};
struct SegmentInfo {
    uintptr_t address;
    size_t bytes;
    uint64_t stream;
    std::vector<std::pair<size_t, bool>> blocks;
};  // (bytes, live)

class CachingAllocator {
  public:
    // Returns memory for `bytes` on `stream`; `*data` aligned. Throws OutOfMemory (with a snapshot in the
    // text) after synchronise, trim, retry.
    virtual Block* allocate(size_t bytes, Stream* stream, void** data) = 0;
    virtual void release(Block* block, uint64_t used_by_streams) = 0;
    virtual void trim() = 0;  // give cached memory back
    virtual AllocatorStats stats() const = 0;
    virtual void reset_peaks() = 0;
    virtual std::vector<SegmentInfo> snapshot() const = 0;
    virtual void set_limit(size_t bytes) = 0;  // 0 = none; beyond it: OutOfMemory
    virtual ~CachingAllocator() = default;
};

// Small fixed-size objects (tensor, node, storage headers) from the same host pool, thread-cached.
void* pool_allocate(size_t bytes);
void pool_release(void* p, size_t bytes);

// False when the host pool is compiled out (TENORA_POOL=0, the
// default under AddressSanitizer, which then sees every block).
bool pool_enabled();

}  // namespace tenora
