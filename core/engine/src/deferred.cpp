// Deferred release, one list for all spaces.
//   - On free, an event is recorded on each stream that used the
//     memory besides the one it was allocated on; the memory goes
//     back when all of them have been reached. Nothing waits for
//     that: allocators poll when they are asked for memory.
//   - A stream that can no longer record (device lost) runs nothing any more and is passed.
//   - Lock: `mutex` guards the list and the spare events; completions run outside it.
#include "deferred.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "fork_locks.h"
#include "streams.h"
#include "tenora/stream.h"

namespace tenora {
namespace {

struct Mark {
    Device device;
    void* event;
};
struct Waiting {
    std::vector<Mark> marks;
    void (*done)(void*, void*);
    void* what;
    void* extra;
};

struct Deferred {
    std::mutex mutex;
    std::vector<Waiting> waiting;
    std::vector<Mark> spare;  // recorded events that were reached, for reuse
    std::atomic<size_t> count{0};
    Deferred() { protect_at_fork(mutex, ForkOrder::Deferred); }
};

Deferred& deferred() {
    static Deferred& immortal = *new Deferred;
    return immortal;
}

void* spare_event(Device device) {
    Deferred& d = deferred();
    for (Mark& mark : d.spare) {
        if (mark.device != device) continue;
        void* event = mark.event;
        mark = d.spare.back();
        d.spare.pop_back();
        return event;
    }
    const tnr_space& f = space(device).functions;
    void* event = nullptr;
    return f.event_create(f.state, device.index, 0, &event) == TNR_OK ? event : nullptr;
}

bool reached(const Mark& mark) {
    const tnr_space& f = space(mark.device).functions;
    return f.event_query(f.state, mark.device.index, mark.event) != 0;
}

// Drops the marks that were reached; true when none is left. The lock is held.
bool settle(Waiting& entry) {
    std::erase_if(entry.marks, [](const Mark& mark) {
        if (!reached(mark)) return false;
        deferred().spare.push_back(mark);
        return true;
    });
    return entry.marks.empty();
}

}  // namespace

void when_passed(uint64_t streams, void (*done)(void*, void*), void* what, void* extra) {
    Waiting entry{{}, done, what, extra};
    Deferred& d = deferred();
    {
        std::lock_guard lock(d.mutex);
        for (; streams; streams &= streams - 1) {
            Stream* stream = stream_in_slot(unsigned(__builtin_ctzll(streams)));
            if (!stream) continue;
            void* event = spare_event(stream->device);
            const tnr_space& f = space(stream->device).functions;
            if (event && f.event_record(f.state, stream->device.index, event, stream->handle) == TNR_OK) {
                entry.marks.push_back({stream->device, event});
            } else if (f.stream_synchronize(f.state, stream->device.index, stream->handle, nullptr, 0) ==
                           TNR_OK &&
                       event) {
                d.spare.push_back({stream->device, event});
            }
        }
        if (!settle(entry)) {
            d.waiting.push_back(std::move(entry));
            d.count.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    done(what, extra);
}

void poll_deferred() {
    Deferred& d = deferred();
    if (d.count.load(std::memory_order_relaxed) == 0) return;
    std::vector<Waiting> over;
    {
        std::lock_guard lock(d.mutex);
        std::erase_if(d.waiting, [&](Waiting& entry) {
            if (!settle(entry)) return false;
            over.push_back(std::move(entry));
            return true;
        });
        d.count.store(d.waiting.size(), std::memory_order_relaxed);
    }
    for (Waiting& entry : over) entry.done(entry.what, entry.extra);
}

void finish_deferred() {
    Deferred& d = deferred();
    std::vector<Waiting> all;
    {
        std::lock_guard lock(d.mutex);
        all.swap(d.waiting);
        d.count.store(0, std::memory_order_relaxed);
    }
    for (Waiting& entry : all) {
        for (const Mark& mark : entry.marks) {
            const tnr_space& f = space(mark.device).functions;
            f.event_synchronize(f.state, mark.device.index, mark.event, nullptr,
                                0);  // a lost device runs nothing
        }
        std::lock_guard lock(d.mutex);
        d.spare.insert(d.spare.end(), entry.marks.begin(), entry.marks.end());
    }
    for (Waiting& entry : all) entry.done(entry.what, entry.extra);
}

size_t deferred_count() { return deferred().count.load(std::memory_order_relaxed); }

void drop_event_handles() {
    Deferred& d = deferred();
    std::vector<Mark> spare;
    {
        std::lock_guard lock(d.mutex);
        spare.swap(d.spare);
    }
    for (const Mark& mark : spare) {
        const tnr_space& f = space(mark.device).functions;
        f.event_destroy(f.state, mark.device.index, mark.event);
    }
}

}  // namespace tenora
