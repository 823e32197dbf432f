// The block allocator behind every space: segments from
// the backend, split and merged. Policy in allocator.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "host_pool.h"
#include "tenora/allocator.h"
#include "tenora/space.h"

namespace tenora {

struct BlockPool;
struct Segment;

struct alignas(64) Block {  // 64: the low bits of a host block's handle name a size class
    uintptr_t address = 0;
    size_t bytes = 0;
    Segment* segment = nullptr;
    Block* previous = nullptr;  // neighbours in the segment
    Block* next = nullptr;
    Stream* user = nullptr;  // stream it was handed to
    bool live = false;
};

struct BlockOrder {
    bool operator()(const Block* a, const Block* b) const {
        return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
    }
};

struct BlockPool {
    Stream* stream = nullptr;
    bool small = false;
    std::set<Block*, BlockOrder> free;
};

struct Segment {
    uintptr_t address = 0;
    size_t bytes = 0;
    BlockPool* pool = nullptr;
    Block* first = nullptr;
};

struct SegmentPolicy {
    size_t granule = 64, alignment = 64;
    Budget* budget = nullptr;
    size_t keep_cached = SIZE_MAX;  // free segments beyond this and beyond the live bytes go back at once
    bool host = false;              // feeds the host's peak; small blocks lie elsewhere and are trimmed along
};

class SegmentAllocator final : public CachingAllocator {
  public:
    SegmentAllocator(Device device, SegmentPolicy policy);
    ~SegmentAllocator() override;
    Block* allocate(size_t bytes, Stream* stream, void** data) override;
    void release(Block* block, uint64_t used_by_streams) override;
    void trim() override;
    AllocatorStats stats() const override;
    void reset_peaks() override;
    std::vector<SegmentInfo> snapshot() const override;
    void set_limit(size_t bytes) override { policy_.budget->limit.store(bytes, std::memory_order_relaxed); }

  private:
    // All of these expect the lock to be held.
    Block* take(size_t bytes, Stream* stream);
    Block* take_from(BlockPool& pool, size_t bytes);
    Block* grow(size_t bytes, Stream* stream, bool exact, std::string* cause);
    bool in_use(uintptr_t address, size_t bytes) const;
    Block* borrow(size_t bytes, Stream* stream);
    Block* hand_out(Block* block, Stream* stream);
    void split(Block* block, size_t bytes);
    Block* merge(Block* block, Block* neighbour);
    void put_back(Block* block);
    void trim_to(size_t cached);
    void release_segment(Segment* segment);
    BlockPool& pool_for(Stream* stream, bool small);

    static void release_now(void* block, void* allocator);

    const Device device_;
    Space& space_;
    SegmentPolicy policy_;
    Budget own_budget_;
    mutable std::mutex mutex_;  // guards everything below
    std::map<std::pair<Stream*, bool>, std::unique_ptr<BlockPool>> pools_;
    BlockPool* last_pool_[2] = {};  // the pools asked for last, by `small`
    std::map<uintptr_t, std::unique_ptr<Segment>> segments_;
    AllocatorStats stats_{};
};

// Spaces whose functions are a caching pool already: counted, guarded across streams, passed through.
class DirectAllocator final : public CachingAllocator {
  public:
    DirectAllocator(Device device, Budget* budget);
    Block* allocate(size_t bytes, Stream* stream, void** data) override;
    void release(Block* block, uint64_t used_by_streams) override;
    void trim() override;
    AllocatorStats stats() const override;
    void reset_peaks() override;
    std::vector<SegmentInfo> snapshot() const override { return {}; }
    void set_limit(size_t bytes) override { budget_->limit.store(bytes, std::memory_order_relaxed); }

  private:
    int32_t try_allocate(size_t bytes, void** data, std::string* cause);
    static void release_now(void* block, void* allocator);

    const Device device_;
    Space& space_;
    Budget own_budget_;
    Budget* budget_;
    mutable std::mutex mutex_;  // guards stats_
    AllocatorStats stats_{};
};

// Small blocks from the host pool, the others from segments.
class HostAllocator final : public CachingAllocator {
  public:
    HostAllocator();
    Block* allocate(size_t bytes, Stream* stream, void** data) override;
    void release(Block* block, uint64_t used_by_streams) override;
    void trim() override;
    AllocatorStats stats() const override;
    void reset_peaks() override;
    std::vector<SegmentInfo> snapshot() const override { return large_.snapshot(); }
    void set_limit(size_t bytes) override { large_.set_limit(bytes); }

  private:
#if TENORA_POOL
    SegmentAllocator large_;
#else
    DirectAllocator large_;
#endif
};

// A small host block's handle is its address with the class
// in the low bits, so that it needs no record of its own.
inline Block* small_block(void* data, unsigned c) {
    return reinterpret_cast<Block*>(reinterpret_cast<uintptr_t>(data) | (c + 1));
}
inline unsigned small_class(const Block* b) {
    return unsigned(reinterpret_cast<uintptr_t>(b) & 63) - 1;
}  // ~0u: not small
inline void* small_data(const Block* b) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(b) & ~uintptr_t{63});
}

// Throws OutOfMemory with the allocator's figures and its largest segments in the text.
[[noreturn]] void refuse_memory(const CachingAllocator& allocator, Device device, size_t bytes, size_t limit,
                                const std::string& cause);
// TNR_OK with a good pointer, or TNR_OUT_OF_MEMORY with
// the cause; any other answer of the backend is an Error.
int32_t raw_allocate(Device device, size_t bytes, size_t alignment, void** data, std::string* cause);

// What a backend's alloc must not hand out.
[[noreturn]] void refuse_alloc(Device device, const std::string& got, const std::string& expected);

void synchronize_quietly(Device device);  // all streams of a device; errors are left to the next call

}  // namespace tenora
