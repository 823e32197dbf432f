// What the allocators share below and above: the backend's raw
// calls, the pass-through allocator, the out-of-memory text.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "deferred.h"
#include "fork_locks.h"
#include "segments.h"
#include "tenora/error.h"
#include "tenora/stream.h"

namespace tenora {
namespace {

std::string readable(size_t bytes) {
    static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = double(bytes);
    int unit = 0;
    for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
    char text[48];
    std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, kUnits[unit]);
    return text;
}

std::string snapshot_text(std::vector<SegmentInfo> segments) {
    if (segments.empty()) return "";
    std::sort(segments.begin(), segments.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
    std::string text = " Snapshot (largest segments):";
    for (size_t i = 0; i < std::min<size_t>(segments.size(), 8); ++i) {
        const SegmentInfo& s = segments[i];
        size_t live = 0, blocks = 0, largest_free = 0;
        for (auto [bytes, is_live] : s.blocks) {
            if (is_live) {
                live += bytes;
                ++blocks;
            } else {
                largest_free = std::max(largest_free, bytes);
            }
        }
        text += " [" + readable(s.bytes) + " on stream " + std::to_string(s.stream) + ": " +
                std::to_string(blocks) + " live blocks of " + readable(live) + ", largest free " +
                readable(largest_free) + "]";
    }
    if (segments.size() > 8) text += " and " + std::to_string(segments.size() - 8) + " more";
    return text + ".";
}

}  // namespace

void refuse_memory(const CachingAllocator& allocator, Device device, size_t bytes, size_t limit,
                   const std::string& cause) {
    AllocatorStats s = allocator.stats();
    const tnr_space& f = space(device).functions;
    size_t free_bytes = 0, total = 0;
    std::string expected = "a request that fits";
    if (f.memory_info && f.memory_info(f.state, device.index, &free_bytes, &total) == TNR_OK) {
        expected = "at most " + readable(free_bytes) + " (what the device reports free)";
    }
    if (limit) expected += " within a limit of " + readable(limit);
    fail(ErrorKind::OutOfMemory, "memory", "allocate",
         "out of memory on " + to_string(device) + ": got a request of " + readable(bytes) + " (" +
             std::to_string(bytes) + " bytes), expected " + expected + ". Cause: " + cause + ". In use " +
             readable(size_t(s.live_bytes)) + " in " + std::to_string(s.live_blocks) + " blocks, reserved " +
             readable(size_t(s.reserved_bytes)) +
             ". Free tensors, use smaller batches, or empty the caches of other processes." +
             snapshot_text(allocator.snapshot()));
}

int32_t raw_allocate(Device device, size_t bytes, size_t alignment, void** data, std::string* cause) {
    const tnr_space& f = space(device).functions;
    char text[256] = "";
    *data = nullptr;
    int32_t status = f.alloc(f.state, device.index, bytes, data, text, sizeof text);
    text[sizeof text - 1] = 0;
    if (status == TNR_OUT_OF_MEMORY) {
        *cause = *text ? text : "the device has no more memory";
        return status;
    }
    check_status(status, device, "allocate", "alloc", text);
    auto address = reinterpret_cast<uintptr_t>(*data);
    if (address && address % alignment == 0) return TNR_OK;
    if (address) f.release(f.state, device.index, *data, bytes);
    refuse_alloc(device, address ? "an address that is not aligned" : "success with a null address",
                 "memory aligned to " + std::to_string(alignment) + " bytes");
}

void refuse_alloc(Device device, const std::string& got, const std::string& expected) {
    const std::string& provider = space(device).provider;
    // Of no op: whatever was called had no part in it, and is not what the error is told under.
    Error error(ErrorKind::Runtime, "backend", "",
                "[allocate] backend '" + provider + "' broke the contract of tnr_space.alloc: got " + got +
                    ", expected " + expected + ". Report this to the backend's author.");
    error.backend = provider;
    throw error;
}

void synchronize_quietly(Device device) {
    const tnr_space& f = space(device).functions;
    char text[8];
    if (f.synchronize) f.synchronize(f.state, device.index, text, sizeof text);
}

DirectAllocator::DirectAllocator(Device device, Budget* budget)
    : device_(device), space_(space(device)), budget_(budget ? budget : &own_budget_) {
    protect_at_fork(mutex_, ForkOrder::Segments);
}

int32_t DirectAllocator::try_allocate(size_t bytes, void** data, std::string* cause) {
    if (!budget_->take(bytes)) {
        *cause = "the limit of the allocator forbids it";
        return TNR_OUT_OF_MEMORY;
    }
    size_t alignment = space_.functions.alignment ? space_.functions.alignment : 64;
    int32_t status = TNR_ERROR;
    try {
        status = raw_allocate(device_, bytes, alignment, data, cause);
    } catch (...) {
        budget_->give(bytes);
        throw;
    }
    if (status != TNR_OK) budget_->give(bytes);
    return status;
}

Block* DirectAllocator::allocate(size_t bytes, Stream* stream, void** data) {
    poll_deferred();
    std::string cause = "the request is larger than an address space";
    bytes = std::max<size_t>(bytes, 1);
    bool done = bytes <= size_t{PTRDIFF_MAX} && try_allocate(bytes, data, &cause) == TNR_OK;
    if (!done && bytes <= size_t{PTRDIFF_MAX}) {
        synchronize_quietly(device_);
        finish_deferred();
        trim();
        done = try_allocate(bytes, data, &cause) == TNR_OK;
        std::lock_guard lock(mutex_);
        ++stats_.retries;
    }
    if (!done) {
        {
            std::lock_guard lock(mutex_);
            ++stats_.out_of_memory;
        }
        refuse_memory(*this, device_, bytes, budget_->limit.load(std::memory_order_relaxed), cause);
    }
    if (device_.space == 0) {
        host_large_live.fetch_add(int64_t(bytes), std::memory_order_relaxed);
        note_host_peak();
    }
    std::lock_guard lock(mutex_);
    ++stats_.allocations;
    ++stats_.raw_allocations;
    ++stats_.live_blocks;
    stats_.live_bytes += int64_t(bytes);
    stats_.live_bytes_peak = std::max(stats_.live_bytes_peak, stats_.live_bytes);
    return new Block{
        .address = reinterpret_cast<uintptr_t>(*data), .bytes = bytes, .user = stream, .live = true};
}

void DirectAllocator::release(Block* block, uint64_t used_by_streams) {
    if (block->user) used_by_streams &= ~(uint64_t{1} << block->user->slot);
    if (used_by_streams) {
        when_passed(used_by_streams, release_now, block, this);
    } else {
        release_now(block, this);
    }
}

void DirectAllocator::release_now(void* what, void* allocator) {
    auto& self = *static_cast<DirectAllocator*>(allocator);
    auto* block = static_cast<Block*>(what);
    const tnr_space& f = self.space_.functions;
    f.release(f.state, self.device_.index, reinterpret_cast<void*>(block->address), block->bytes);
    self.budget_->give(block->bytes);
    if (self.device_.space == 0) host_large_live.fetch_sub(int64_t(block->bytes), std::memory_order_relaxed);
    std::lock_guard lock(self.mutex_);
    ++self.stats_.raw_releases;
    --self.stats_.live_blocks;
    self.stats_.live_bytes -= int64_t(block->bytes);
    delete block;
}

void DirectAllocator::trim() {
    poll_deferred();
    const tnr_space& f = space_.functions;
    if (f.trim) f.trim(f.state, device_.index);
}

AllocatorStats DirectAllocator::stats() const {
    std::lock_guard lock(mutex_);
    AllocatorStats result = stats_;
    result.reserved_bytes = result.live_bytes;
    result.reserved_bytes_peak = result.live_bytes_peak;
    return result;
}

void DirectAllocator::reset_peaks() {
    std::lock_guard lock(mutex_);
    stats_.live_bytes_peak = stats_.live_bytes;
}

}  // namespace tenora
