#include <algorithm>

#include "deferred.h"
#include "segments.h"

namespace tenora {
namespace {

constexpr Device kHost{0, 0};
constexpr size_t kKeepCached = size_t{256} << 20;

void release_small(void* block, void*) {
    auto* b = static_cast<Block*>(block);
    pool_give(small_data(b), small_class(b));
}

}  // namespace

HostAllocator::HostAllocator()
#if TENORA_POOL
    : large_(kHost, SegmentPolicy{64, 64, &host_budget, kKeepCached, true})
#else
    : large_(kHost, &host_budget)
#endif
{
}

Block* HostAllocator::allocate(size_t bytes, Stream* stream, void** data) {
    if (bytes > kSmallMax) return large_.allocate(bytes, stream, data);
    unsigned c = class_of(bytes);
    *data = pool_take(c);
    return small_block(*data, c);
}

void HostAllocator::release(Block* block, uint64_t used_by_streams) {
    if (small_class(block) == ~0u) {
        large_.release(block, used_by_streams);
    } else if (used_by_streams) {
        when_passed(used_by_streams, release_small, block, nullptr);
    } else {
        release_small(block, nullptr);
    }
}

void HostAllocator::trim() {
    large_.trim();
    pool_trim();
}

AllocatorStats HostAllocator::stats() const {
    AllocatorStats s = large_.stats();
    PoolStats small = pool_stats();
    s.live_bytes += small.live_bytes;
    s.live_blocks += small.live_blocks;
    s.allocations += small.allocations;
    s.reserved_bytes += small.reserved_bytes;
    s.raw_allocations += small.raw_allocations;
    s.raw_releases += small.raw_releases;
    s.live_bytes_peak = std::max(note_host_peak(), s.live_bytes);
    s.reserved_bytes_peak = std::max(s.reserved_bytes_peak + small.reserved_bytes, s.reserved_bytes);
    s.cached_bytes = s.reserved_bytes - s.live_bytes;
    return s;
}

void HostAllocator::reset_peaks() {
    large_.reset_peaks();
    reset_host_peak();
}

}  // namespace tenora
