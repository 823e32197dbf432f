// One caching allocator for all spaces.
//   - Memory comes from the backend in segments and is handed out in blocks,
//     multiples of the space's granule. A free block is split when the rest
//     is worth keeping and merged with free neighbours when it returns.
//   - Two pools per stream: requests up to 1 MiB are cut from segments of
//     2 MiB; larger ones from segments of 20 MiB, from 10 MiB up from a
//     segment of their own in steps of 2 MiB. Best fit, growth on demand.
//   - A freed block goes back to the pool of the stream it
//     belongs to and is reused there without waiting, since work
//     on one stream is ordered. Other streams that used it are
//     waited for with events before it is free (deferred.cpp).
//   - No memory: lend a free block of another stream, which the borrowing stream
//     first waits for; else synchronise the device, collect what waited, trim,
//     try once more; then OutOfMemory with a snapshot. The process goes on.
//   - trim() gives wholly free segments back after the device has finished what it was given.
//   - The host (space 0): blocks up to 64 KiB come from the thread-cached
//     pool (host_pool.cpp), larger ones from segments here; free segments
//     beyond 256 MiB and beyond what is live go back at once.
//   - A space with own_pool is passed through: counted and guarded across streams, nothing cached.
//   - Lock: one mutex per device; the backend's alloc, release and, in trim(), synchronise run under it. It
//   is waited
//     for without the GIL, which these take where they are written in Python.
#include "tenora/allocator.h"

#include <algorithm>
#include <utility>

#include "deferred.h"
#include "fork_locks.h"
#include "patient_lock.h"
#include "segments.h"
#include "streams.h"
#include "tenora/error.h"

namespace tenora {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSmallRequest = kMiB, kSmallSegment = 2 * kMiB, kOwnSegment = 10 * kMiB,
                 kLargeSegment = 20 * kMiB;
constexpr size_t kMostBytes = size_t{PTRDIFF_MAX} - 64 * kMiB;  // beyond it rounding could overflow

size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

size_t segment_bytes(size_t bytes, size_t granule) {
    if (bytes <= kSmallRequest) return round_up(kSmallSegment, granule);
    return round_up(bytes < kOwnSegment ? kLargeSegment : round_up(bytes, kSmallSegment), granule);
}

uint64_t bit(const Stream* stream) { return stream ? uint64_t{1} << stream->slot : 0; }

void destroy_event(void* event, void* stream) {
    Device device = static_cast<Stream*>(stream)->device;
    const tnr_space& f = space(device).functions;
    f.event_destroy(f.state, device.index, event);
}

// Makes `later` wait for what `earlier` was given so far; false when the backend refuses.
bool order_streams(Stream* earlier, Stream* later) {
    const tnr_space& f = space(later->device).functions;
    int32_t index = later->device.index;
    void* event = nullptr;
    if (f.event_create(f.state, index, 0, &event) != TNR_OK) return false;
    bool ordered = f.event_record(f.state, index, event, earlier->handle) == TNR_OK &&
                   f.stream_wait_event(f.state, index, later->handle, event) == TNR_OK;
    when_passed(bit(later), destroy_event, event,
                later);  // an event may not go while a stream still waits for it
    return ordered;
}

}  // namespace

SegmentAllocator::SegmentAllocator(Device device, SegmentPolicy policy)
    : device_(device), space_(space(device)), policy_(policy) {
    policy_.granule = round_up(policy_.granule, policy_.alignment);
    if (!policy_.budget) policy_.budget = &own_budget_;
    protect_at_fork(mutex_, ForkOrder::Segments);
}

SegmentAllocator::~SegmentAllocator() = default;

Block* SegmentAllocator::allocate(size_t bytes, Stream* stream, void** data) {
    poll_deferred();
    std::string cause = "the request is larger than an address space";
    Block* block = nullptr;
    if (bytes <= kMostBytes) {
        size_t rounded = round_up(std::max<size_t>(bytes, 1), policy_.granule);
        {
            PatientLock lock(mutex_);
            block = take(rounded, stream);
            if (!block) block = grow(rounded, stream, false, &cause);
            if (!block) block = borrow(rounded, stream);
            if (!block) ++stats_.retries;
        }
        if (!block) {
            synchronize_quietly(device_);
            finish_deferred();
            if (policy_.host) pool_trim();
            PatientLock lock(mutex_);
            block = take(rounded, stream);
            if (!block) {
                trim_to(0);
                block = grow(rounded, stream, true, &cause);
            }
            if (!block) block = borrow(rounded, stream);
        }
    }
    if (!block) {
        {
            PatientLock lock(mutex_);
            ++stats_.out_of_memory;
        }
        refuse_memory(space_.allocator(device_.index), device_, bytes,
                      policy_.budget->limit.load(std::memory_order_relaxed), cause);
    }
    *data = reinterpret_cast<void*>(block->address);
    return block;
}

Block* SegmentAllocator::take(size_t bytes, Stream* stream) {
    Block* block = take_from(pool_for(stream, bytes <= kSmallRequest), bytes);
    return block ? hand_out(block, stream) : nullptr;
}

Block* SegmentAllocator::take_from(BlockPool& pool, size_t bytes) {
    Block wanted;
    wanted.bytes = bytes;
    auto found = pool.free.lower_bound(&wanted);
    if (found == pool.free.end()) return nullptr;
    Block* block = *found;
    pool.free.erase(found);
    size_t rest = block->bytes - bytes;
    if (pool.small ? rest >= policy_.granule : rest > kSmallRequest) split(block, bytes);
    return block;
}

Block* SegmentAllocator::grow(size_t bytes, Stream* stream, bool exact, std::string* cause) {
    void* data = nullptr;
    size_t size = segment_bytes(bytes, policy_.granule);
    for (;;) {
        if (!policy_.budget->take(size)) {
            *cause = "the limit of the allocator forbids it";
        } else if (raw_allocate(device_, size, policy_.alignment, &data, cause) == TNR_OK) {
            break;
        } else {
            policy_.budget->give(size);
        }
        if (!exact || size == bytes) return nullptr;
        size = bytes;  // the last attempt asks for no more than is needed
    }
    if (in_use(reinterpret_cast<uintptr_t>(data), size)) {
        policy_.budget->give(size);
        refuse_alloc(device_, "memory that is in use already", "memory that no other block lies in");
    }
    ++stats_.raw_allocations;
    stats_.reserved_bytes += int64_t(size);
    stats_.reserved_bytes_peak = std::max(stats_.reserved_bytes_peak, stats_.reserved_bytes);
    auto segment = std::make_unique<Segment>();
    segment->address = reinterpret_cast<uintptr_t>(data);
    segment->bytes = size;
    segment->pool = &pool_for(stream, bytes <= kSmallRequest);
    auto* block = new Block{.address = segment->address, .bytes = size, .segment = segment.get()};
    segment->first = block;
    segment->pool->free.insert(block);
    segments_.emplace(segment->address, std::move(segment));
    return take(bytes, stream);
}

bool SegmentAllocator::in_use(uintptr_t address, size_t bytes) const {
    auto behind = segments_.upper_bound(address);
    if (behind != segments_.end() && behind->first < address + bytes) return true;
    if (behind == segments_.begin()) return false;
    const auto& before = *std::prev(behind);
    return before.first + before.second->bytes > address;
}

Block* SegmentAllocator::borrow(size_t bytes, Stream* stream) {
    if (!stream) return nullptr;
    for (auto& [key, pool] : pools_) {
        if (key.first == stream || !key.first || pool->small != (bytes <= kSmallRequest)) continue;
        Block* block = take_from(*pool, bytes);
        if (!block) continue;
        if (order_streams(key.first, stream)) return hand_out(block, stream);
        put_back(block);
    }
    return nullptr;
}

Block* SegmentAllocator::hand_out(Block* block, Stream* stream) {
    block->live = true;
    block->user = stream;
    ++stats_.allocations;
    ++stats_.live_blocks;
    stats_.live_bytes += int64_t(block->bytes);
    stats_.live_bytes_peak = std::max(stats_.live_bytes_peak, stats_.live_bytes);
    if (policy_.host) {
        host_large_live.fetch_add(int64_t(block->bytes), std::memory_order_relaxed);
        note_host_peak();
    }
    return block;
}

void SegmentAllocator::release(Block* block, uint64_t used_by_streams) {
    Stream* owner = block->segment->pool->stream;
    if (block->user != owner)
        used_by_streams |= bit(block->user);  // borrowed: its owner must not overtake the borrower
    else
        used_by_streams &= ~bit(owner);
    if (used_by_streams) {
        when_passed(used_by_streams, release_now, block, this);
    } else {
        release_now(block, this);
    }
}

void SegmentAllocator::release_now(void* what, void* allocator) {
    auto& self = *static_cast<SegmentAllocator*>(allocator);
    auto* block = static_cast<Block*>(what);
    PatientLock lock(self.mutex_);
    block->live = false;
    --self.stats_.live_blocks;
    self.stats_.live_bytes -= int64_t(block->bytes);
    if (self.policy_.host) host_large_live.fetch_sub(int64_t(block->bytes), std::memory_order_relaxed);
    self.put_back(block);
    if (self.policy_.keep_cached != SIZE_MAX) {
        size_t keep = std::max(self.policy_.keep_cached, size_t(self.stats_.live_bytes));
        if (size_t(self.stats_.reserved_bytes - self.stats_.live_bytes) > keep) self.trim_to(keep);
    }
}

void SegmentAllocator::split(Block* block, size_t bytes) {
    auto* rest = new Block{.address = block->address + bytes,
                           .bytes = block->bytes - bytes,
                           .segment = block->segment,
                           .previous = block,
                           .next = block->next};
    if (rest->next) rest->next->previous = rest;
    block->next = rest;
    block->bytes = bytes;
    block->segment->pool->free.insert(rest);
    ++stats_.splits;
}

// Swallows the block after `block`.
Block* SegmentAllocator::merge(Block* block, Block* after) {
    block->bytes += after->bytes;
    block->next = after->next;
    if (block->next) block->next->previous = block;
    delete after;
    ++stats_.merges;
    return block;
}

void SegmentAllocator::put_back(Block* block) {
    BlockPool& pool = *block->segment->pool;
    block->live = false;
    if (Block* after = block->next; after && !after->live) {
        pool.free.erase(after);
        merge(block, after);
    }
    if (Block* before = block->previous; before && !before->live) {
        pool.free.erase(before);
        block = merge(before, block);
    }
    pool.free.insert(block);
}

// Gives wholly free segments back, the largest first, until no more than `cached` bytes lie free.
void SegmentAllocator::trim_to(size_t cached) {
    std::vector<Segment*> idle;
    for (auto& [address, segment] : segments_) {
        if (!segment->first->live && !segment->first->next) idle.push_back(segment.get());
    }
    if (idle.empty()) return;
    if (!space_.host_order()) synchronize_quietly(device_);  // freed in stream order, perhaps not yet in time
    std::sort(idle.begin(), idle.end(), [](Segment* a, Segment* b) { return a->bytes > b->bytes; });
    for (Segment* segment : idle) {
        if (size_t(stats_.reserved_bytes - stats_.live_bytes) <= cached) return;
        release_segment(segment);
    }
}

void SegmentAllocator::release_segment(Segment* segment) {
    segment->pool->free.erase(segment->first);
    delete segment->first;
    const tnr_space& f = space_.functions;
    f.release(f.state, device_.index, reinterpret_cast<void*>(segment->address), segment->bytes);
    ++stats_.raw_releases;
    stats_.reserved_bytes -= int64_t(segment->bytes);
    policy_.budget->give(segment->bytes);
    segments_.erase(segment->address);
}

BlockPool& SegmentAllocator::pool_for(Stream* stream, bool small) {
    if (BlockPool* last = last_pool_[small]; last && last->stream == stream) return *last;
    auto& pool = pools_[{stream, small}];
    if (!pool) {
        pool = std::make_unique<BlockPool>();
        pool->stream = stream;
        pool->small = small;
    }
    last_pool_[small] = pool.get();
    return *pool;
}

void SegmentAllocator::trim() {
    poll_deferred();
    {
        PatientLock lock(mutex_);
        trim_to(0);
    }
    const tnr_space& f = space_.functions;
    if (f.trim) f.trim(f.state, device_.index);
}

AllocatorStats SegmentAllocator::stats() const {
    PatientLock lock(mutex_);
    AllocatorStats result = stats_;
    result.cached_bytes = result.reserved_bytes - result.live_bytes;
    return result;
}

void SegmentAllocator::reset_peaks() {
    PatientLock lock(mutex_);
    stats_.live_bytes_peak = stats_.live_bytes;
    stats_.reserved_bytes_peak = stats_.reserved_bytes;
}

std::vector<SegmentInfo> SegmentAllocator::snapshot() const {
    PatientLock lock(mutex_);
    std::vector<SegmentInfo> result;
    for (auto& [address, segment] : segments_) {
        SegmentInfo info{
            address, segment->bytes, segment->pool->stream ? segment->pool->stream->slot : uint64_t{0}, {}};
        for (Block* b = segment->first; b; b = b->next) info.blocks.emplace_back(b->bytes, b->live);
        result.push_back(std::move(info));
    }
    return result;
}

}  // namespace tenora
