// Streams, events and the device side of the caching
// allocator, on a device that works behind the host's back.
#include <algorithm>
#include <array>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "fake_device.h"
#include "tenora/allocator.h"
#include "tenora/dispatch.h"
#include "tenora/ring.h"
#include "tenora/tensor.h"

using namespace tenora;
using tenora_test::FakeDevice;
using tenora_test::OnStream;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

FakeDevice& fake() { return FakeDevice::get(); }
Device device() { return fake().device(); }
CachingAllocator& pool() { return space(device()).allocator(0); }

void check_no_violation(FakeDevice& f) {
    std::vector<std::string> found = f.violations();
    if (!found.empty()) throw tenora_test::Failure("violation: " + found.front());
}

// Starts each test on idle devices with empty caches: both take from the same memory.
void fresh(uint64_t seed = 1) {
    synchronize(device());
    synchronize(fake().device(1));
    fake().reset(seed);
    pool().trim();
    space(device()).allocator(1).trim();
}

}  // namespace

TEST(streams_have_an_order_of_their_own) {
    fresh();
    StreamRef a = new_stream(device(), 0), b = new_stream(device(), 0);
    CHECK(a->slot != b->slot);
    StorageRef s = allocate(4096, device());
    fake().launch_write(a.get(), s->data, 4096, 7);
    CHECK(!query(a.get()));
    CHECK(query(b.get()));
    fake().launch_expect(a.get(), s->data, 4096, 7);
    mark_use(s.get(), a.get());
    synchronize(a.get());
    CHECK(query(a.get()));
    check_no_violation(fake());
}

TEST(current_stream_is_per_thread) {
    fresh();
    StreamRef a = new_stream(device(), 0);
    Stream* usual = default_stream(device());
    CHECK(usual && usual->is_default);
    CHECK(current_stream(device()) == usual);
    {
        OnStream scope(a.get());
        CHECK(current_stream(device()) == a.get());
        Stream* elsewhere = nullptr;
        std::thread([&] { elsewhere = current_stream(device()); }).join();
        CHECK(elsewhere == usual);
        CHECK(current_stream(fake().device(1)) == default_stream(fake().device(1)));
        StorageRef s = allocate(100, device());
        CHECK_EQ(s->stream_slot, a->slot);
    }
    CHECK(current_stream(device()) == usual);
    CHECK_THROWS(ErrorKind::Runtime, "stream of another device",
                 set_current_stream(fake().device(1), a.get()));
    CHECK(current_stream(Device{}) == nullptr);
}

TEST(a_copy_between_devices_may_be_left_to_its_stream) {
    fresh();
    TensorRef t = new_tensor(std::array<int64_t, 1>{64}, DType::F32, fake().device(0));
    auto waits = [&](bool non_blocking) {
        int64_t before = fake().counts().synchronizations;
        TensorRef there = to_device(t.get(), fake().device(1), non_blocking);
        CHECK(there->device == fake().device(1));
        return fake().counts().synchronizations - before;
    };
    CHECK_EQ(waits(true) + 1, waits(false));
    synchronize(fake().device(1));
    check_no_violation(fake());
}

TEST(event_orders_two_streams) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        fresh(seed);
        StreamRef a = new_stream(device(), 0), b = new_stream(device(), 0);
        EventRef done = new_event(device(), false);
        StorageRef s = allocate(8192, device());
        mark_use(s.get(), a.get());
        mark_use(s.get(), b.get());
        CHECK(query(done.get()));
        fake().launch_write(a.get(), s->data, 8192, seed + 1);
        record(done.get(), a.get());
        CHECK(!query(done.get()));
        wait(b.get(), done.get());
        fake().launch_expect(b.get(), s->data, 8192, seed + 1);
        synchronize(b.get());
        CHECK(query(done.get()));
        check_no_violation(fake());
    }
}

TEST(the_fake_device_sees_a_missing_wait) {
    fresh();
    StreamRef a = new_stream(device(), 0), b = new_stream(device(), 0);
    StorageRef s = allocate(8192, device());
    fake().launch_write(a.get(), s->data, 8192, 1);
    fake().launch_expect(b.get(), s->data, 8192, 1);  // nothing orders it after the write
    CHECK(!fake().violations().empty());
    synchronize(device());
    fake().reset(1);
}

TEST(the_fake_device_sees_memory_given_back_too_early) {
    fresh();
    FakeDevice& f = fake();
    void* data = nullptr;
    char text[64];
    Stream* stream = default_stream(device());
    CHECK_EQ(f.functions().alloc(f.functions().state, 0, 4096, &data, text, sizeof text), TNR_OK);
    f.launch_write(stream, data, 4096, 3);
    f.drain();  // it has run, but the host was never told
    CHECK_EQ(f.functions().release(f.functions().state, 0, data, 4096), TNR_OK);
    CHECK_EQ(f.violations().size(), 1u);
    f.reset(1);
}

TEST(same_stream_reuses_without_waiting) {
    fresh();
    StreamRef a = new_stream(device(), 0);
    OnStream scope(a.get());
    int64_t waits = fake().counts().synchronizations;
    void* first = nullptr;
    for (int i = 0; i < 50; ++i) {
        StorageRef s = allocate(3000, device());
        if (!first) first = s->data;
        CHECK(s->data == first);
        mark_use(s.get(), a.get());
        fake().launch_write(a.get(), s->data, 3000, uint64_t(i));
        fake().launch_expect(a.get(), s->data, 3000, uint64_t(i));
    }
    CHECK_EQ(fake().counts().synchronizations, waits);
    synchronize(a.get());
    check_no_violation(fake());
}

TEST(block_used_by_another_stream_is_held_until_its_event) {
    fresh();
    StreamRef a = new_stream(device(), 0), b = new_stream(device(), 0);
    OnStream scope(a.get());
    void* first;
    {
        StorageRef s = allocate(3000, device());
        first = s->data;
        EventRef ready = new_event(device(), false);
        fake().launch_write(a.get(), s->data, 3000, 5);
        record(ready.get(), a.get());
        wait(b.get(), ready.get());
        mark_use(s.get(), b.get());
        fake().launch_expect(b.get(), s->data, 3000, 5);
    }
    StorageRef next = allocate(3000, device());  // b has not run: the block must not come back yet
    CHECK(next->data != first);
    fake().launch_write(a.get(), next->data, 3000, 6);
    synchronize(b.get());
    StorageRef third = allocate(3000, device());
    CHECK(third->data == first);
    fake().launch_write(a.get(), third->data, 3000, 7);
    synchronize(device());
    check_no_violation(fake());
}

TEST(without_the_mark_the_reuse_would_be_seen) {  // the guard is what keeps the test above quiet
    fresh();
    StreamRef a = new_stream(device(), 0), b = new_stream(device(), 0);
    OnStream scope(a.get());
    {
        StorageRef s = allocate(3000, device());
        fake().launch_expect(b.get(), s->data, 3000, 5);
    }
    StorageRef next = allocate(3000, device());
    fake().launch_write(a.get(), next->data, 3000, 6);
    CHECK(!fake().violations().empty());
    synchronize(device());
    fake().reset(1);
}

TEST(host_memory_under_a_device_stream_is_held) {
    fresh();
    Stream* stream = default_stream(device());
    AllocatorStats before = space(0).allocator(0).stats();
    for (size_t bytes : {size_t{512}, size_t{4096}, size_t{1} << 20}) {
        StorageRef host = allocate(bytes, Device{});
        void* data = host->data;
        mark_use(host.get(), stream);
        fake().launch_write(stream, data, bytes, 11);
        fake().launch_expect(stream, data, bytes, 11);
        host = StorageRef();
        StorageRef other = allocate(bytes, Device{});
        CHECK(other->data != data);
        std::fill_n(static_cast<uint64_t*>(other->data), bytes / 8, uint64_t{0});
        synchronize(stream);
    }
    check_no_violation(fake());
    CHECK_EQ(space(0).allocator(0).stats().live_bytes, before.live_bytes);
}

TEST(foreign_memory_is_released_after_its_streams) {
    fresh();
    static int released;
    released = 0;
    alignas(512) static uint64_t memory[64];
    Stream* stream = default_stream(device());
    {
        StorageRef s = adopt(memory, sizeof memory, device(), false, &released,
                             [](void* o) { ++*static_cast<int*>(o); });
        mark_use(s.get(), stream);
        fake().launch_write(stream, s->data, sizeof memory, 1);
    }
    CHECK_EQ(released, 0);
    synchronize(stream);
    CHECK_EQ(released, 1);
    {
        StorageRef idle = adopt(memory, sizeof memory, device(), false, &released,
                                [](void* o) { ++*static_cast<int*>(o); });
    }
    CHECK_EQ(released, 2);
}

TEST(blocks_are_split_and_merged) {
    fresh();
    AllocatorStats before = pool().stats();
    std::vector<StorageRef> parts;
    for (int i = 0; i < 16; ++i) parts.push_back(allocate(100 * 1024, device()));
    AllocatorStats now = pool().stats();
    CHECK_EQ(now.raw_allocations - before.raw_allocations, 1);  // all from one segment of 2 MiB
    CHECK(now.splits - before.splits >= 16);
    CHECK_EQ(now.reserved_bytes - before.reserved_bytes, 2 << 20);
    std::vector<SegmentInfo> segments = pool().snapshot();
    CHECK_EQ(segments.size(), 1u);
    CHECK_EQ(
        std::count_if(segments[0].blocks.begin(), segments[0].blocks.end(), [](auto& b) { return b.second; }),
        16);
    for (size_t i = 0; i < 16; i += 2) parts[i] = StorageRef();
    CHECK_EQ(pool().snapshot()[0].blocks.size(), 17u);
    parts.clear();
    segments = pool().snapshot();
    CHECK_EQ(segments[0].blocks.size(), 1u);
    CHECK_EQ(segments[0].blocks[0].first, 2 << 20);
    CHECK(pool().stats().merges - before.merges >= 16);
    StorageRef whole = allocate(kMiB, device());
    CHECK_EQ(pool().stats().raw_allocations, now.raw_allocations);
}

TEST(large_blocks_have_segments_of_their_own) {
    fresh();
    StorageRef middle = allocate(3 * kMiB, device());
    CHECK_EQ(pool().stats().reserved_bytes, 20 << 20);
    StorageRef large = allocate(33 * kMiB + 5, device());
    CHECK_EQ(pool().stats().reserved_bytes, (20 + 34) << 20);
    StorageRef again = allocate(3 * kMiB, device());  // from the rest of the first segment
    CHECK_EQ(pool().stats().reserved_bytes, (20 + 34) << 20);
}

TEST(trim_waits_for_work_and_gives_everything_back) {
    fresh();
    Stream* stream = default_stream(device());
    {
        StorageRef s = allocate(5 * kMiB, device());
        fake().launch_write(stream, s->data, 4096, 1);
    }
    StorageRef held = allocate(1000, device());
    CHECK(pool().stats().cached_bytes > 0);
    int64_t releases = fake().counts().releases;
    pool().trim();
    CHECK_EQ(fake().counts().releases - releases, 1);
    CHECK_EQ(pool().stats().reserved_bytes, 2 << 20);
    held = StorageRef();
    pool().trim();
    CHECK_EQ(pool().stats().reserved_bytes, 0);
    CHECK_EQ(pool().stats().live_bytes, 0);
    check_no_violation(fake());
}

TEST(out_of_memory_synchronises_trims_and_retries) {
    fresh();
    fake().set_capacity(64 * kMiB);
    StreamRef a = new_stream(device(), 0), b = new_stream(device(), 0);
    OnStream scope(a.get());
    AllocatorStats before = pool().stats();
    {
        StorageRef s = allocate(40 * kMiB, device());
        mark_use(s.get(), b.get());
        fake().launch_write(b.get(), s->data, 4096, 1);  // still under way when the next request comes
    }
    StorageRef next = allocate(50 * kMiB, device());
    CHECK_EQ(pool().stats().retries - before.retries, 1);
    CHECK_EQ(pool().stats().out_of_memory, before.out_of_memory);
    fake().launch_write(a.get(), next->data, 4096, 2);
    synchronize(device());
    check_no_violation(fake());
}

TEST(out_of_memory_is_an_error_with_a_snapshot) {
    fresh();
    fake().set_capacity(64 * kMiB);
    StorageRef held = allocate(30 * kMiB, device());
    int64_t before = pool().stats().out_of_memory;
    CHECK_THROWS(ErrorKind::OutOfMemory, "out of memory on fake:0: got a request of 40.00 MiB",
                 allocate(40 * kMiB, device()));
    CHECK_THROWS(ErrorKind::OutOfMemory, "Snapshot (largest segments): [30.00 MiB",
                 allocate(40 * kMiB, device()));
    CHECK_THROWS(ErrorKind::OutOfMemory, "expected at most 34.00 MiB", allocate(40 * kMiB, device()));
    CHECK_THROWS(ErrorKind::OutOfMemory, "1.00 EiB", allocate(size_t{1} << 60, device()));
    CHECK_EQ(pool().stats().out_of_memory - before, 4);
    StorageRef fits = allocate(20 * kMiB, device());  // the process goes on
    CHECK(fits->data != nullptr);
}

TEST(small_request_survives_a_device_without_room_for_a_segment) {
    fresh();
    fake().set_capacity(kMiB);
    StorageRef small = allocate(1000, device());  // a segment of 2 MiB does not fit, an exact one does
    CHECK_EQ(pool().stats().reserved_bytes, 1024);
}

TEST(refused_allocation_is_tried_again) {
    fresh();
    fake().refuse_next(1);
    StorageRef s = allocate(3 * kMiB, device());
    CHECK(s->data != nullptr);
    fake().refuse_next(100);
    CHECK_THROWS(ErrorKind::OutOfMemory, "fake device has no room", allocate(30 * kMiB, device()));
    fake().refuse_next(0);
    StorageRef after = allocate(30 * kMiB, device());
}

TEST(free_block_of_another_stream_is_lent_after_its_work) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
        fresh(seed);
        fake().set_capacity(48 * kMiB);
        StreamRef a = new_stream(device(), 0), b = new_stream(device(), 0);
        StorageRef keep;  // keeps a's segment alive, so that trimming could not help
        void* lent;
        {
            OnStream scope(a.get());
            keep = allocate(2 * kMiB, device());
            StorageRef s = allocate(3 * kMiB, device());
            lent = s->data;
            fake().launch_write(a.get(), s->data, 65536, 1);
            fake().launch_expect(a.get(), s->data, 65536, 1);
        }
        StorageRef rest = allocate(26 * kMiB, device());
        int64_t waits = fake().counts().synchronizations;
        {
            OnStream scope(b.get());
            StorageRef s = allocate(3 * kMiB, device());  // no room for another segment of 20 MiB
            CHECK(s->data == lent);
            CHECK_EQ(fake().counts().synchronizations, waits);
            fake().launch_write(b.get(), s->data, 65536, 2);
            fake().launch_expect(b.get(), s->data, 65536, 2);
        }
        {
            OnStream scope(a.get());
            StorageRef s = allocate(3 * kMiB, device());  // b still works on the lent block
            CHECK(s->data != lent);
            fake().launch_write(a.get(), s->data, 65536, 3);
        }
        synchronize(device());
        check_no_violation(fake());
    }
}

TEST(limit_of_a_device) {
    fresh();
    pool().set_limit(30 * kMiB);
    {
        StorageRef a = allocate(20 * kMiB, device());
        CHECK_THROWS(ErrorKind::OutOfMemory, "limit", allocate(12 * kMiB, device()));
    }
    StorageRef b = allocate(28 * kMiB, device());
    pool().set_limit(0);
}

TEST(own_pool_is_passed_through) {
    FakeDevice& own = FakeDevice::get("pooled", true);
    CachingAllocator& direct = space(own.device()).allocator(0);
    int64_t allocs = own.counts().allocs;
    StreamRef other = new_stream(own.device(), 0);
    {
        StorageRef a = allocate(1000, own.device());
        CHECK_EQ(own.counts().allocs - allocs, 1);
        CHECK_EQ(own.counts().bytes, 1000);  // not a segment
        CHECK_EQ(direct.stats().live_bytes, 1000);
        mark_use(a.get(), other.get());
        own.launch_write(other.get(), a->data, 1000, 1);
    }
    CHECK_EQ(own.counts().bytes, 1000);  // the other stream may still be at it
    synchronize(other.get());
    CHECK_EQ(own.counts().bytes, 0);
    direct.trim();
    CHECK_EQ(own.counts().trims, 1);
    own.refuse_next(1);
    StorageRef retried = allocate(1000, own.device());
    CHECK_EQ(direct.stats().retries, 1);
    own.refuse_next(2);
    CHECK_THROWS(ErrorKind::OutOfMemory, "out of memory on pooled:0", allocate(5000, own.device()));
    check_no_violation(own);
}

TEST(released_streams_are_handed_out_again) {
    fresh();
    StreamRef a = new_stream(device(), 0);
    Stream* raw = a.get();
    int64_t streams = fake().counts().streams;
    a = StreamRef();
    StreamRef b = new_stream(device(), 0);
    CHECK(b.get() == raw);
    CHECK_EQ(fake().counts().streams, streams);
    StreamRef urgent = new_stream(device(), -1);
    CHECK(urgent.get() != raw && urgent->priority == -1);
}

TEST(more_streams_than_slots_are_shared) {
    fresh();
    std::vector<StreamRef> many;
    for (int i = 0; i < 100; ++i) many.push_back(new_stream(device(), 0));
    CHECK(fake().counts().streams < 64);
    for (const StreamRef& s : many) CHECK(s->slot < 64 && s->device == device());
    CHECK(default_stream(fake().device(1)) != nullptr);  // the last slots are kept for these
}

TEST(events_measure_and_complain) {
    fresh();
    Stream* stream = default_stream(device());
    EventRef begin = new_event(device(), true), end = new_event(device(), true),
             plain = new_event(device(), false);
    StorageRef s = allocate(512, device());
    record(begin.get(), stream);
    fake().launch_write(stream, s->data, 512, 1);
    record(end.get(), stream);
    record(plain.get(), stream);
    CHECK_EQ(elapsed_ms(begin.get(), end.get()), 2.0);
    CHECK_THROWS(ErrorKind::Runtime, "timing=True", elapsed_ms(begin.get(), plain.get()));
    CHECK_THROWS(ErrorKind::Runtime, "event and stream differ",
                 record(begin.get(), default_stream(fake().device(1))));
    CHECK_THROWS(ErrorKind::Runtime, "event and stream differ", record(begin.get(), nullptr));
}

TEST(waits_enter_the_ring) {
    fresh();
    ring_start(100);
    synchronize(default_stream(device()));
    synchronize(device());
    ring_stop();
    std::vector<RingEvent> events = ring_take(nullptr);
    CHECK_EQ(events.size(), 2u);
    CHECK(events[0].kind == RingKind::Wait && events[0].end_ns >= events[0].begin_ns);
}

// Random programs on several streams: tensors made, written,
// read elsewhere after an event, dropped at any time.
void random_program(uint64_t seed, int steps) {
    std::mt19937_64 random(seed);
    std::vector<StreamRef> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(new_stream(device(), 0));
    struct Held {
        StorageRef s;
        Stream* last;
        uint64_t pattern;
    };
    std::vector<Held> held;
    for (int i = 0; i < steps; ++i) {
        Stream* stream = streams[random() % 4].get();
        if (held.size() < 3 || random() % 3 == 0) {
            OnStream scope(stream);
            size_t bytes = (1 + random() % (random() % 8 ? 200 : 4000)) * 512;
            Held h{allocate(bytes, device()), stream, random() | 1};
            fake().launch_write(stream, h.s->data, bytes, h.pattern);
            held.push_back(std::move(h));
        } else {
            Held& h = held[random() % held.size()];
            EventRef done = new_event(device(), false);
            record(done.get(), h.last);
            wait(stream, done.get());
            mark_use(h.s.get(), stream);
            fake().launch_expect(stream, h.s->data, h.s->bytes, h.pattern);
            h.pattern = random() | 1;
            fake().launch_write(stream, h.s->data, h.s->bytes, h.pattern);
            h.last = stream;
        }
        if (held.size() > 12 || random() % 4 == 0) {
            size_t k = random() % held.size();
            std::swap(held[k], held.back());
            held.pop_back();
        }
        if (random() % 2) fake().step();
        if (random() % 200 == 0) pool().trim();
    }
}

TEST(random_programs_on_four_streams) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
        fresh(seed);
        if (seed % 2) fake().set_capacity(48 * kMiB);
        random_program(seed, 600);
        synchronize(device());
        check_no_violation(fake());
        CHECK_EQ(pool().stats().live_bytes, 0);
    }
}

TEST(random_programs_beside_a_working_device) {
    fresh();
    fake().start_worker();
    std::vector<std::thread> threads;
    for (uint64_t seed = 0; seed < 4; ++seed) {
        threads.emplace_back([seed] { random_program(100 + seed, 300); });
    }
    for (auto& thread : threads) thread.join();
    synchronize(device());
    fake().stop_worker();
    check_no_violation(fake());
    CHECK_EQ(pool().stats().live_bytes, 0);
}

TEST(tensors_on_a_device) {
    fresh();
    Live before = live();
    {
        TensorRef t = new_tensor(std::vector<int64_t>{300, 500}, DType::F32, device());
        CHECK_EQ(t->dl.device.device_type, 12);
        CHECK_EQ(t->storage->stream_slot, current_stream(device())->slot);
        CHECK_EQ(live().bytes - before.bytes, 600000);
        TensorRef second = new_tensor(std::vector<int64_t>{4}, DType::F32, fake().device(1));
        CHECK_EQ(second->dl.device.device_id, 1);
        CHECK_THROWS(ErrorKind::Runtime, "got fake:2, expected an index below 2",
                     new_tensor(std::vector<int64_t>{4}, DType::F32, fake().device(2)));
    }
    CHECK_EQ(live().bytes, before.bytes);
    CHECK_EQ(live().tensors, before.tensors);
}

TEST(zz_shutdown_leaves_nothing_behind) {  // last: streams are gone afterwards
    fresh();
    {
        StreamRef a = new_stream(device(), 0);
        OnStream scope(a.get());
        StorageRef s = allocate(1000, device());
        mark_use(s.get(), default_stream(device()));
        fake().launch_write(a.get(), s->data, 1000, 1);
    }
    shutdown_spaces();
    FakeDevice::Counts counts = fake().counts();
    CHECK_EQ(counts.regions, 0);
    CHECK_EQ(counts.streams, 0);
    CHECK_EQ(counts.events, 0);
    check_no_violation(fake());
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
