// The host's side of the caching allocator: classes, thread caches, trim, limit, statistics.
#include <algorithm>
#include <barrier>
#include <cstring>
#include <future>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "tenora/allocator.h"
#include "tenora/tensor.h"

using namespace tenora;

namespace {

constexpr Device kHost{};
CachingAllocator& host() { return space(0).allocator(0); }

struct Mine {
    void* data;
    size_t bytes;
    unsigned char mark;
    Block* block;
};

Mine take(size_t bytes, unsigned char mark) {
    Mine m{nullptr, bytes, mark, nullptr};
    m.block = host().allocate(bytes, nullptr, &m.data);
    std::memset(m.data, mark, bytes);
    return m;
}

bool intact(const Mine& m) {
    auto* bytes = static_cast<unsigned char*>(m.data);
    return std::all_of(bytes, bytes + m.bytes, [&](unsigned char b) { return b == m.mark; });
}

}  // namespace

TEST(blocks_do_not_overlap) {
    std::mt19937 random(3);
    std::vector<Mine> held;
    for (int i = 0; i < 4000; ++i) {
        if (held.size() > 200 || (!held.empty() && random() % 2)) {
            size_t k = random() % held.size();
            CHECK(intact(held[k]));
            host().release(held[k].block, 0);
            held[k] = held.back();
            held.pop_back();
        } else {
            size_t bytes = 1 + random() % (i % 50 == 0 ? 700000 : i % 5 == 0 ? 70000 : 2000);
            held.push_back(take(bytes, (unsigned char)(random() % 255 + 1)));
            CHECK_EQ(reinterpret_cast<uintptr_t>(held.back().data) % 64, 0);
        }
    }
    for (Mine& m : held) {
        CHECK(intact(m));
        host().release(m.block, 0);
    }
}

TEST(statistics_add_up) {
    AllocatorStats before = host().stats();
    {
        StorageRef a = allocate(1000, kHost), b = allocate(200000, kHost), c = allocate(60000, kHost);
        AllocatorStats now = host().stats();
        CHECK(now.live_bytes - before.live_bytes >= 261000);
        CHECK(now.live_bytes - before.live_bytes <= 300000);
        CHECK(now.live_blocks > before.live_blocks);
        CHECK(now.live_bytes_peak >= now.live_bytes);
        CHECK(now.reserved_bytes >= now.live_bytes);
        CHECK_EQ(now.cached_bytes, now.reserved_bytes - now.live_bytes);
        CHECK(now.allocations - before.allocations >= 3);
    }
    AllocatorStats after = host().stats();
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK_EQ(after.live_blocks, before.live_blocks);
    host().reset_peaks();
    CHECK(host().stats().live_bytes_peak < after.live_bytes + 200000);
    StorageRef big = allocate(50 << 20, kHost);
    big = StorageRef();
    CHECK(host().stats().live_bytes_peak >= 50 << 20);
}

TEST(what_another_thread_has_cached_is_no_peak) {
    std::promise<void> cached, seen;
    std::thread other([&] {
        {
            StorageRef a = allocate(20000, kHost), b = allocate(30000, kHost), c = allocate(40000, kHost);
        }
        cached.set_value();
        seen.get_future().wait();
    });
    cached.get_future().wait();
    host().reset_peaks();
    AllocatorStats now = host().stats();
    StorageRef large = allocate(1 << 20, kHost);
    AllocatorStats more = host().stats();
    seen.set_value();
    other.join();
    CHECK_EQ(now.live_bytes_peak, now.live_bytes);
    CHECK_EQ(more.live_bytes_peak, more.live_bytes);
}

TEST(freed_memory_is_used_again) {
    if (!pool_enabled()) return;  // AddressSanitizer's allocator keeps freed blocks aside
    void* first;
    Block* block = host().allocate(512, nullptr, &first);
    host().release(block, 0);
    void* second;
    block = host().allocate(500, nullptr, &second);
    host().release(block, 0);
    CHECK(first == second);
    int64_t raw = host().stats().raw_allocations;
    for (int i = 0; i < 1000; ++i) {
        StorageRef small = allocate(100, kHost), large = allocate(1 << 20, kHost);
    }
    CHECK(host().stats().raw_allocations - raw <= 2);
}

TEST(ending_thread_gives_its_lists_back) {
    if (!pool_enabled()) return;
    constexpr size_t kBytes = 3000;
    std::set<void*> theirs;
    std::thread([&] {
        std::vector<Mine> held;
        for (int i = 0; i < 40; ++i) held.push_back(take(kBytes, 1));
        for (Mine& m : held) {
            theirs.insert(m.data);
            host().release(m.block, 0);
        }
    }).join();
    std::vector<Mine> mine;
    int seen = 0;
    for (int i = 0; i < 400; ++i) {
        mine.push_back(take(kBytes, 2));
        seen += int(theirs.count(mine.back().data));
    }
    for (Mine& m : mine) host().release(m.block, 0);
    CHECK_EQ(seen, 40);
}

TEST(memory_freed_on_another_thread) {
    AllocatorStats before = host().stats();
    for (int round = 0; round < 20; ++round) {
        std::vector<Mine> held;
        for (int i = 0; i < 500; ++i) held.push_back(take(size_t(i) * 7 + 1, 9));
        std::thread([&] {
            for (Mine& m : held) host().release(m.block, 0);
        }).join();
    }
    CHECK_EQ(host().stats().live_bytes, before.live_bytes);
    CHECK(host().stats().reserved_bytes - before.reserved_bytes < 32 << 20);
}

TEST(trim_gives_memory_back) {
    if (!pool_enabled()) return;
    host().trim();
    int64_t before = host().stats().reserved_bytes;
    {
        std::vector<StorageRef> many;
        for (int i = 0; i < 20000; ++i) many.push_back(allocate(900, kHost));
        for (int i = 0; i < 20; ++i) many.push_back(allocate(3 << 20, kHost));
        CHECK(host().stats().reserved_bytes - before > 70 << 20);
    }
    host().trim();
    AllocatorStats after = host().stats();
    CHECK(after.reserved_bytes - before <= 4 << 20);
    CHECK(after.raw_releases > 0);
    StorageRef again = allocate(900, kHost);
    std::memset(again->data, 1, 900);
}

TEST(free_segments_beyond_the_cap_go_back) {
    if (!pool_enabled()) return;
    host().trim();
    for (int i = 1; i <= 12; ++i) {
        StorageRef s = allocate(size_t(i) * (24 << 20), kHost);  // 24 MiB steps: no two share a segment
    }
    CHECK(host().stats().cached_bytes <= (256 << 20) + (64 << 20));
    host().trim();
}

TEST(limit_raises_and_recovers) {
    host().trim();
    int64_t reserved = host().stats().reserved_bytes;
    host().set_limit(size_t(reserved) + (64 << 20));
    {
        StorageRef fits = allocate(30 << 20, kHost);
        CHECK_THROWS(ErrorKind::OutOfMemory, "within a limit of", allocate(60 << 20, kHost));
        std::vector<StorageRef> small;
        bool refused = false;
        try {
            for (int i = 0; i < 200000; ++i) small.push_back(allocate(2000, kHost));
        } catch (const Error& error) {
            refused = error.kind == ErrorKind::OutOfMemory;
        }
        CHECK(refused || !pool_enabled());
    }
    StorageRef after = allocate(60 << 20, kHost);  // what was cached is given up for it
    host().set_limit(0);
    CHECK(host().stats().out_of_memory > 0);
    CHECK(host().stats().retries > 0);
}

TEST(headers_from_the_pool) {
    std::vector<std::pair<void*, size_t>> held;
    for (size_t bytes : {1u, 64u, 65u, 200u, 1024u, 1025u, 5000u, 65536u, 65537u, 1000000u}) {
        void* p = pool_allocate(bytes);
        CHECK_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0);
        std::memset(p, 3, bytes);
        held.emplace_back(p, bytes);
    }
    for (auto [p, bytes] : held) pool_release(p, bytes);
}

TEST(eight_threads_allocate_and_free) {
    Live before = live();
    AllocatorStats stats = host().stats();
    std::barrier start(8);
    std::vector<std::vector<StorageRef>> handed(8);
    std::atomic<int> damaged{0};
    std::vector<std::thread> threads;
    for (int id = 0; id < 8; ++id) {
        threads.emplace_back([&, id] {
            std::mt19937 random{unsigned(id)};
            std::vector<Mine> held;
            start.arrive_and_wait();
            for (int i = 0; i < 3000; ++i) {
                if (held.size() > 60 || (!held.empty() && random() % 2)) {
                    size_t k = random() % held.size();
                    damaged += !intact(held[k]);
                    host().release(held[k].block, 0);
                    held[k] = held.back();
                    held.pop_back();
                } else {
                    held.push_back(
                        take(1 + random() % (i % 100 == 0 ? 300000 : 5000), (unsigned char)(id + 1)));
                }
                if (i % 500 == 0) host().trim();
            }
            for (Mine& m : held) host().release(m.block, 0);
            for (int i = 0; i < 200; ++i) handed[size_t(id)].push_back(allocate(size_t(i) * 11, kHost));
            start.arrive_and_wait();
            handed[size_t(id + 1) % 8].clear();  // freed by a neighbour
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK_EQ(damaged.load(), 0);
    CHECK_EQ(live().bytes, before.bytes);
    CHECK_EQ(live().storages, before.storages);
    CHECK_EQ(host().stats().live_bytes, stats.live_bytes);
    CHECK_EQ(host().stats().live_blocks, stats.live_blocks);
}

TEST(destructors_of_an_ending_thread_may_still_free) {
    Live before = live();
    std::thread([] {
        struct Holder {
            TensorRef t;
        };
        // Made before the thread's first visit to the pool, so
        // destroyed after the pool's own end-of-thread work.
        static thread_local Holder holder;
        holder.t = TensorRef();
        holder.t = new_tensor(std::vector<int64_t>{100}, DType::F32, kHost);
    }).join();
    CHECK_EQ(live().tensors, before.tensors);
    CHECK_EQ(live().bytes, before.bytes);
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
