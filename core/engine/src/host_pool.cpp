// The host pool for blocks up to 64 KiB: tensors' data, and the headers of tensors, storages, nodes.
//   - Sizes: multiples of 64 bytes up to 1 KiB, then four per
//     doubling. A block is aligned to 64 bytes and has no header.
//   - Each thread keeps a bounded free list per class, reached without a lock
//     through one thread-local pointer. A list that runs dry takes a batch
//     from the class's shared list, one that overflows gives half back.
//   - A class grows by chunks of 256 KiB, cut from arenas of 2 MiB that are mapped from the system.
//   - A block may be given back on any thread. When a thread ends,
//     its lists go to the shared ones and its counters stay.
//   - trim() gathers this thread's lists and unmaps arenas that
//     are wholly free; other threads' lists are theirs, they
//     shrink to nothing at their next visit to a shared list.
//   - After a fork the child goes on with the forking thread's
//     lists; the lists of threads that do not exist there are lost.
//   - Locks: one per class, then `arenas`, then `registry` (order of fork_locks.h).
#include "host_pool.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "fork_locks.h"
#include "host_memory.h"
#include "tenora/error.h"
#include "tenora/space.h"

namespace tenora {

constinit thread_local ThreadState* thread_state = nullptr;
Budget host_budget;
std::atomic<int64_t> host_large_live{0};

bool Budget::take(size_t bytes) {
    size_t ceiling = limit.load(std::memory_order_relaxed);
    size_t before = reserved.fetch_add(bytes, std::memory_order_relaxed);
    if (!ceiling || before + bytes <= ceiling) return true;
    give(bytes);
    return false;
}

bool pool_enabled() { return TENORA_POOL; }

namespace {

constexpr size_t kArena = kHugePage, kChunk = size_t{256} << 10, kChunksPerArena = kArena / kChunk;
constexpr size_t kListBytes = size_t{128} << 10;  // what a thread may keep per class
constexpr uint64_t kListLeast = 4, kListMost = 256;
constexpr size_t kPlainArenas = 2;  // the first arenas take ordinary pages: a small process stays small

struct SharedList {
    std::mutex mutex;
    FreeBlock* head = nullptr;       // mutex
    std::atomic<int64_t> count{0};   // written under mutex
    std::atomic<int64_t> blocks{0};  // cut into this class so far; written under mutex
};

struct Pool {
    SharedList classes[kClasses];
    std::mutex arenas;                                    // guards the next three
    std::unordered_map<uintptr_t, uint32_t> used_chunks;  // arena -> bit per chunk in use
    std::vector<uintptr_t> free_chunks;
    int64_t raw_allocations = 0, raw_releases = 0;
    std::mutex registry;  // guards the list of threads
    ThreadState* threads = nullptr;
    std::atomic<int64_t> retired_counts[size_t(Count::kKinds)]{};
    std::atomic<int64_t> retired_allocations{0};
    std::atomic<int64_t> outstanding{0};  // bytes that left the shared lists
    std::atomic<int64_t> peak{0};
    std::atomic<uint32_t> trims{0};
    std::atomic<int64_t> plain_bytes{0}, plain_blocks{0};  // with the pool switched off

    Pool() {
        for (SharedList& list : classes) protect_at_fork(list.mutex, ForkOrder::Classes);
        protect_at_fork(arenas, ForkOrder::Arenas);
        protect_at_fork(registry, ForkOrder::Registry);
    }
};

Pool& pool() {
    static Pool& immortal = *new Pool;  // used by threads and objects that outlive static destruction
    return immortal;
}

uintptr_t arena_of(uintptr_t chunk) { return chunk & ~uintptr_t{kArena - 1}; }
uint32_t bit_of(uintptr_t chunk) { return 1u << ((chunk & (kArena - 1)) / kChunk); }

// A fresh chunk, or 0 when neither the system nor the limit grants one.
uintptr_t take_chunk() {
    Pool& p = pool();
    std::lock_guard lock(p.arenas);
    if (p.free_chunks.empty()) {
        if (!host_budget.take(kArena)) return 0;
        void* data = host_map(kArena, p.used_chunks.size() >= kPlainArenas);
        if (!data) {
            host_budget.give(kArena);
            return 0;
        }
        ++p.raw_allocations;
        auto base = reinterpret_cast<uintptr_t>(data);
        p.used_chunks[base] = 0;
        for (size_t i = kChunksPerArena; i-- > 0;) p.free_chunks.push_back(base + i * kChunk);
    }
    uintptr_t chunk = p.free_chunks.back();
    p.free_chunks.pop_back();
    p.used_chunks[arena_of(chunk)] |= bit_of(chunk);
    return chunk;
}

void give_chunks(const std::vector<uintptr_t>& chunks) {
    Pool& p = pool();
    std::lock_guard lock(p.arenas);
    for (uintptr_t chunk : chunks) {
        p.used_chunks[arena_of(chunk)] &= ~bit_of(chunk);
        p.free_chunks.push_back(chunk);
    }
    std::erase_if(p.free_chunks, [&](uintptr_t chunk) { return p.used_chunks[arena_of(chunk)] == 0; });
    std::erase_if(p.used_chunks, [&](const auto& arena) {
        if (arena.second) return false;
        host_unmap(reinterpret_cast<void*>(arena.first), kArena);
        host_budget.give(kArena);
        ++p.raw_releases;
        return true;
    });
}

// Cuts a chunk into blocks, in ascending order, onto the shared list. The list's lock is held.
bool grow(SharedList& list, unsigned c) {
    uintptr_t chunk = take_chunk();
    if (!chunk) return false;
    size_t bytes = class_bytes(c), n = kChunk / bytes;
    for (size_t i = n; i-- > 0;) {
        auto* block = reinterpret_cast<FreeBlock*>(chunk + i * bytes);
        block->next = list.head;
        list.head = block;
    }
    list.count.fetch_add(int64_t(n), std::memory_order_relaxed);
    list.blocks.fetch_add(int64_t(n), std::memory_order_relaxed);
    return true;
}

// Moves up to `n` blocks from the thread's list to the shared one.
void give_batch(FreeList& from, unsigned c, uint64_t n) {
    FreeBlock* first = from.head;
    if (!first || !n) return;
    FreeBlock* last = first;
    uint64_t moved = 1;
    for (; moved < n && last->next; ++moved) last = last->next;
    from.head = last->next;
    SharedList& to = pool().classes[c];
    std::lock_guard lock(to.mutex);
    last->next = to.head;
    to.head = first;
    add_owned(from.given, uint64_t{0} - moved);
    to.count.fetch_add(moved, std::memory_order_relaxed);
    pool().outstanding.fetch_sub(int64_t(moved * class_bytes(c)), std::memory_order_relaxed);
}

// Takes a batch for the thread; false when the class cannot grow.
[[maybe_unused]] bool take_batch(FreeList& into, unsigned c) {
    SharedList& from = pool().classes[c];
    std::lock_guard lock(from.mutex);
    if (!from.head && !grow(from, c)) return false;
    uint64_t wanted = std::max<uint64_t>(1, into.limit / 2), moved = 0;
    FreeBlock *first = from.head, *last = nullptr;
    for (FreeBlock* b = first; b && moved < wanted; b = b->next, ++moved) last = b;
    from.head = last->next;
    last->next = into.head;
    into.head = first;
    from.count.fetch_sub(moved, std::memory_order_relaxed);
    add_owned(into.given, uint64_t{moved});
    pool().outstanding.fetch_add(int64_t(moved * class_bytes(c)), std::memory_order_relaxed);
    return true;
}

int64_t taken_by(const ThreadState& state) {
    int64_t taken = 0;
    for (const FreeList& list : state.lists) taken += int64_t(list.taken.load(std::memory_order_relaxed));
    return taken;
}

void give_all(ThreadState& state) {
    for (unsigned c = 0; c < kClasses; ++c) give_batch(state.lists[c], c, UINT64_MAX);
    state.seen_trims = pool().trims.load(std::memory_order_relaxed);
}

// Another thread asked for a trim since this one last came by.
[[maybe_unused]] void heed_trim(ThreadState& state) {
    if (state.seen_trims != pool().trims.load(std::memory_order_relaxed)) give_all(state);
}

// Runs when its thread ends. Later thread-local destructors find no state and use the shared lists.
struct ThreadEnd {
    bool over = false;
    ~ThreadEnd();
};
thread_local ThreadEnd thread_end;
constinit thread_local bool thread_over = false;  // readable after thread_end is gone

ThreadEnd::~ThreadEnd() {
    ThreadState* state = thread_state;
    thread_over = true;
    if (!state) return;
    give_all(*state);
    Pool& p = pool();
    std::lock_guard lock(p.registry);
    for (size_t i = 0; i < size_t(Count::kKinds); ++i) {
        p.retired_counts[i].fetch_add(state->counts[i].load(std::memory_order_relaxed),
                                      std::memory_order_relaxed);
    }
    p.retired_allocations.fetch_add(taken_by(*state), std::memory_order_relaxed);
    if (state->next) state->next->previous = state->previous;
    (state->previous ? state->previous->next : p.threads) = state->next;
    thread_state = nullptr;
    delete state;
}

// This thread's state, made on its first visit; null when the thread is ending.
ThreadState* attach() {
    if (thread_state || thread_over) return thread_state;
    auto* state = new ThreadState;
    state->seen_trims = pool().trims.load(std::memory_order_relaxed);
    for (unsigned c = 0; c < kClasses; ++c) {
        state->lists[c].limit = std::clamp<uint64_t>(kListBytes / class_bytes(c), kListLeast, kListMost);
    }
    Pool& p = pool();
    {
        std::lock_guard lock(p.registry);
        state->next = p.threads;
        if (p.threads) p.threads->previous = state;
        p.threads = state;
    }
    thread_end.over = false;  // touching it registers its destructor
    return thread_state = state;
}

[[noreturn]] void refuse(size_t bytes) {
    fail(ErrorKind::OutOfMemory, "memory", "allocate",
         "out of memory on cpu: got a request of " + std::to_string(bytes) +
             " bytes, expected memory or a higher limit for the host pool. Free tensors or raise the limit.");
}

#if TENORA_POOL
void* take_shared(unsigned c) {  // of an ending thread
    FreeList one;
    one.limit = 1;
    if (!take_batch(one, c)) return nullptr;
    pool().retired_allocations.fetch_add(1, std::memory_order_relaxed);
    return one.head;
}

void* try_take(unsigned c) {
    ThreadState* state = attach();
    if (!state) return take_shared(c);
    heed_trim(*state);
    note_host_peak();
    FreeList& list = state->lists[c];
    if (!list.head && !take_batch(list, c)) return nullptr;
    FreeBlock* block = list.head;
    list.head = block->next;
    add_owned(list.taken, uint64_t{1});
    return block;
}
#else
void* try_take(unsigned c) {
    attach();
    void* block = nullptr;
    if (posix_memalign(&block, 64, class_bytes(c)) != 0) return nullptr;
    pool().plain_bytes.fetch_add(int64_t(class_bytes(c)), std::memory_order_relaxed);
    pool().plain_blocks.fetch_add(1, std::memory_order_relaxed);
    pool().retired_allocations.fetch_add(1, std::memory_order_relaxed);
    return block;
}
#endif

}  // namespace

void* pool_take_slow(unsigned c) {
    if (void* block = try_take(c)) return block;
    space(0).allocator(0).trim();
    if (void* block = try_take(c)) return block;
    refuse(class_bytes(c));
}

#if TENORA_POOL
void pool_give_slow(void* p, unsigned c) {
    auto* block = static_cast<FreeBlock*>(p);
    ThreadState* state = attach();
    FreeList one;
    FreeList& list = state ? state->lists[c] : one;
    block->next = list.head;
    list.head = block;
    add_owned(list.given, uint64_t{1});
    uint64_t count = list.count();
    if (count > list.limit) give_batch(list, c, state ? count - list.limit / 2 : 1);
    if (state) heed_trim(*state);
}
#else
void pool_give_slow(void* p, unsigned c) {
    attach();
    pool().plain_bytes.fetch_sub(int64_t(class_bytes(c)), std::memory_order_relaxed);
    pool().plain_blocks.fetch_sub(1, std::memory_order_relaxed);
    std::free(p);
}
#endif

void count_slow(Count kind, int64_t delta) {
    if (ThreadState* state = attach()) {
        add_owned(state->counts[size_t(kind)], delta);
    } else {
        pool().retired_counts[size_t(kind)].fetch_add(delta, std::memory_order_relaxed);
    }
}

int64_t live_total(Count kind) {
    Pool& p = pool();
    std::lock_guard lock(p.registry);
    int64_t total = p.retired_counts[size_t(kind)].load(std::memory_order_relaxed);
    for (ThreadState* t = p.threads; t; t = t->next)
        total += t->counts[size_t(kind)].load(std::memory_order_relaxed);
    return total;
}

namespace {

int64_t cached_bytes(const ThreadState& state) {
    int64_t bytes = 0;
    for (unsigned c = 0; c < kClasses; ++c) bytes += int64_t(state.lists[c].count() * class_bytes(c));
    return bytes;
}

}  // namespace

int64_t note_host_peak() {
    Pool& p = pool();
    int64_t live = host_large_live.load(std::memory_order_relaxed) +
                   p.outstanding.load(std::memory_order_relaxed) +
                   p.plain_bytes.load(std::memory_order_relaxed);
    int64_t peak = p.peak.load(std::memory_order_relaxed);
    // Without the lock first: mostly the peak stands even if all that other threads have cached lived.
    if (live <= peak) return peak;
    if (ThreadState* own = thread_state)
        if (live - cached_bytes(*own) <= peak) return peak;
    {
        std::lock_guard lock(p.registry);
        for (ThreadState* t = p.threads; t; t = t->next) live -= cached_bytes(*t);
    }
    while (live > peak && !p.peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
    return std::max(live, peak);
}

void reset_host_peak() {
    pool().peak.store(0, std::memory_order_relaxed);
    note_host_peak();
}

PoolStats pool_stats() {
    Pool& p = pool();
    PoolStats s{};
    std::scoped_lock lock(p.arenas, p.registry);
    s.allocations = p.retired_allocations.load(std::memory_order_relaxed);
    for (ThreadState* t = p.threads; t; t = t->next) s.allocations += taken_by(*t);
    s.live_bytes = p.plain_bytes.load(std::memory_order_relaxed);
    s.live_blocks = p.plain_blocks.load(std::memory_order_relaxed);
    for (unsigned c = 0; c < kClasses; ++c) {
        int64_t live = p.classes[c].blocks.load(std::memory_order_relaxed) -
                       p.classes[c].count.load(std::memory_order_relaxed);
        for (ThreadState* t = p.threads; t; t = t->next) live -= int64_t(t->lists[c].count());
        s.live_blocks += live;
        s.live_bytes += live * int64_t(class_bytes(c));
    }
    s.reserved_bytes = int64_t(p.used_chunks.size() * kArena) + p.plain_bytes.load(std::memory_order_relaxed);
    s.raw_allocations = p.raw_allocations;
    s.raw_releases = p.raw_releases;
    return s;
}

void pool_trim() {
    pool().trims.fetch_add(1, std::memory_order_relaxed);
    if (ThreadState* state = thread_state) give_all(*state);
    Pool& p = pool();
    for (unsigned c = 0; c < kClasses; ++c) {
        SharedList& list = p.classes[c];
        size_t per_chunk = kChunk / class_bytes(c);
        std::vector<uintptr_t> idle;
        {
            std::lock_guard lock(list.mutex);
            std::unordered_map<uintptr_t, size_t> free_in;
            auto chunk_of = [](FreeBlock* b) {
                return reinterpret_cast<uintptr_t>(b) & ~uintptr_t{kChunk - 1};
            };
            for (FreeBlock* b = list.head; b; b = b->next) ++free_in[chunk_of(b)];
            for (auto& [chunk, n] : free_in) {
                if (n == per_chunk) idle.push_back(chunk);
            }
            if (idle.empty()) continue;
            for (FreeBlock** link = &list.head; *link;) {
                if (free_in[chunk_of(*link)] == per_chunk) {
                    *link = (*link)->next;
                } else {
                    link = &(*link)->next;
                }
            }
            int64_t gone = int64_t(idle.size() * per_chunk);
            list.count.fetch_sub(gone, std::memory_order_relaxed);
            list.blocks.fetch_sub(gone, std::memory_order_relaxed);
        }
        give_chunks(idle);
    }
}

void* pool_allocate(size_t bytes) {
    if (bytes <= kSmallMax) return pool_take(class_of(bytes));
    void* data = nullptr;
    if (posix_memalign(&data, 64, bytes) != 0) refuse(bytes);
    return data;
}

void pool_release(void* p, size_t bytes) {
    if (bytes <= kSmallMax) {
        pool_give(p, class_of(bytes));
    } else {
        std::free(p);
    }
}

}  // namespace tenora
