// The host pool's fast path, inlined into tensor and storage creation. Policy in host_pool.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tenora/allocator.h"

#ifndef TENORA_POOL
#if defined(__SANITIZE_ADDRESS__)
#define TENORA_POOL 0  // every block is malloc's own, so that AddressSanitizer sees a use after free
#else
#define TENORA_POOL 1
#endif
#endif

namespace tenora {

inline constexpr size_t kSmallest = 64, kLinear = 1024, kSmallMax = 64 << 10;
inline constexpr unsigned kLinearClasses = kLinear / kSmallest;  // 64, 128, ... 1024
inline constexpr unsigned kClasses = kLinearClasses + 4 * 6;     // then four per doubling up to 64 KiB

constexpr unsigned class_of(size_t bytes) {
    if (bytes <= kLinear) return bytes ? unsigned((bytes - 1) / kSmallest) : 0;
    unsigned doubling = unsigned(std::bit_width(bytes - 1)) - 1;  // 2^doubling < bytes <= 2^(doubling + 1)
    return kLinearClasses + 4 * (doubling - 10) + unsigned((bytes - 1) >> (doubling - 2) & 3);
}

constexpr size_t class_bytes(unsigned c) {
    if (c < kLinearClasses) return (c + 1) * kSmallest;
    unsigned k = c - kLinearClasses;
    return (size_t{1} << (10 + k / 4)) / 4 * (5 + k % 4);
}

enum class Count : uint8_t { Tensors, Storages, Nodes, Extras, Programs, Bytes, kKinds };

struct FreeBlock {
    FreeBlock* next;
};
// One counter moves per take or give: what lies in the list is the difference.
struct FreeList {
    FreeBlock* head = nullptr;       // touched by the owning thread alone, like everything that is not atomic
    std::atomic<uint64_t> taken{0};  // written by the owner, read by stats()
    std::atomic<uint64_t> given{0};
    uint64_t limit = 0;

    uint64_t count() const {
        return given.load(std::memory_order_relaxed) - taken.load(std::memory_order_relaxed);
    }
};

// What a thread owns: its free lists and its share of the
// live counters. Only a pointer to it is thread-local.
struct ThreadState {
    FreeList lists[kClasses];
    std::atomic<int64_t> counts[size_t(Count::kKinds)]{};
    uint32_t seen_trims = 0;
    ThreadState* previous = nullptr;  // registry of threads: lock `registry` of host_pool.cpp
    ThreadState* next = nullptr;
};

extern constinit thread_local ThreadState* thread_state;

// One writer: a plain addition, which another thread may read.
template <class T>
inline void add_owned(std::atomic<T>& counter, T delta) {
    counter.store(counter.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
}

void* pool_take_slow(unsigned c);  // throws OutOfMemory
void pool_give_slow(void* p, unsigned c);
void count_slow(Count kind, int64_t delta);

inline void count_live(Count kind, int64_t delta) {
    if (ThreadState* state = thread_state) [[likely]] {
        add_owned(state->counts[size_t(kind)], delta);
    } else {
        count_slow(kind, delta);
    }
}

#if TENORA_POOL
// The two moves that need no lock. Null, false: the list is empty, full, or the thread has no state.
inline void* try_pop(ThreadState* state, unsigned c) {
    if (!state) [[unlikely]]
        return nullptr;
    FreeList& list = state->lists[c];
    FreeBlock* block = list.head;
    if (!block) [[unlikely]]
        return nullptr;
    list.head = block->next;
    add_owned(list.taken, uint64_t{1});
    return block;
}

inline bool try_push(ThreadState* state, void* p, unsigned c) {
    if (!state) [[unlikely]]
        return false;
    FreeList& list = state->lists[c];
    uint64_t given = list.given.load(std::memory_order_relaxed);
    if (given - list.taken.load(std::memory_order_relaxed) >= list.limit) [[unlikely]]
        return false;
    auto* block = static_cast<FreeBlock*>(p);
    block->next = list.head;
    list.head = block;
    list.given.store(given + 1, std::memory_order_relaxed);
    return true;
}
#else
inline void* try_pop(ThreadState*, unsigned) { return nullptr; }
inline bool try_push(ThreadState*, void*, unsigned) { return false; }
#endif

inline void* pool_take(unsigned c) {
    void* block = try_pop(thread_state, c);
    return block ? block : pool_take_slow(c);
}

inline void pool_give(void* p, unsigned c) {
    if (!try_push(thread_state, p, c)) [[unlikely]]
        pool_give_slow(p, c);
}

// A ceiling on what is taken from below, shared by the host's small and large blocks; devices have one each.
struct Budget {
    std::atomic<size_t> limit{0};  // 0: none
    std::atomic<size_t> reserved{0};
    bool take(size_t bytes);  // false: the limit forbids it
    void give(size_t bytes) { reserved.fetch_sub(bytes, std::memory_order_relaxed); }
};
extern Budget host_budget;

struct PoolStats {
    int64_t live_bytes, live_blocks, allocations, reserved_bytes, raw_allocations, raw_releases;
};
PoolStats pool_stats();
void pool_trim();  // this thread's lists, then every arena that is wholly free

// The peak of live bytes: large blocks exactly, small ones as sampled when a thread visits the shared lists
// or takes a large block.
extern std::atomic<int64_t> host_large_live;
int64_t note_host_peak();  // samples; returns the peak so far
void reset_host_peak();

// What the pool adds up for Live.
int64_t live_total(Count kind);

}  // namespace tenora
