// The event ring: a bounded buffer under one lock, touched only while `ring_flags` says so.
//   - When it is full the oldest event goes and is counted as dropped.
//   - A hidden copy, wait or transfer in a thread that forbids
//     them is an Error that names op and reason, recorded or not.
#include "tenora/ring.h"

#include <time.h>

#include <deque>
#include <mutex>
#include <set>
#include <string>

#include "fork_locks.h"
#include "tenora/error.h"
#include "tenora/modes.h"

namespace tenora {

std::atomic<uint32_t> ring_flags{0};

namespace {

constexpr uint32_t kRecording = 1, kForbidding = 2;

struct Ring {
    std::mutex mutex;  // guards everything here
    std::deque<RingEvent> events;
    size_t capacity = 0;
    uint64_t dropped = 0;
    int forbidding = 0;  // threads inside no_hidden_copies
    std::set<std::string, std::less<>> texts;
    Ring() { protect_at_fork(mutex, ForkOrder::Ring); }
};

Ring& ring() {
    static Ring& immortal = *new Ring;
    return immortal;
}

std::atomic<uint32_t> next_thread{1};
constinit thread_local uint32_t this_thread = 0;

}  // namespace

uint64_t ring_now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1'000'000'000u + uint64_t(t.tv_nsec);
}

uint32_t ring_thread() {
    if (!this_thread) this_thread = next_thread.fetch_add(1, std::memory_order_relaxed);
    return this_thread;
}

const char* ring_kind_name(RingKind kind) {
    static constexpr const char* kNames[] = {"kernel",     "copy",     "layout", "cast",
                                             "transfer",   "wait",     "pack",   "fallback",
                                             "allocation", "backward", "mark"};
    return size_t(kind) < std::size(kNames) ? kNames[size_t(kind)] : "unknown";
}

void ring_refuse_hidden(RingKind kind, OpId op_id, uint64_t bytes, const char* detail) {
    if (!modes().no_hidden_copies) return;
    std::string name = op_id < op_count() ? std::string(op(op_id).display()) : "engine";
    fail(ErrorKind::HiddenCopy, "hidden_copy", name,
         std::string("hidden ") + ring_kind_name(kind) + (detail ? std::string(" (") + detail + ")" : "") +
             ": got one of " + std::to_string(bytes) +
             " bytes, expected none inside no_hidden_copies(). Do it explicitly before, or leave the "
             "block.");
}

void ring_push(const RingEvent& event) {
    if (ring_flags.load(std::memory_order_relaxed) & kRecording) {
        Ring& r = ring();
        uint32_t thread = ring_thread();
        std::lock_guard lock(r.mutex);
        if (r.capacity) {
            if (r.events.size() >= r.capacity) {
                r.events.pop_front();
                ++r.dropped;
            }
            r.events.push_back(event);
            r.events.back().thread = thread;
        }
    }
    if (event.hidden) ring_refuse_hidden(event.kind, event.op, event.bytes, event.detail);
}

void ring_start(size_t capacity) {
    if (capacity == 0) {
        fail(ErrorKind::Value, "ring", "ring_start",
             "no room: got a capacity of 0, expected at least 1. Give a larger one.");
    }
    Ring& r = ring();
    std::lock_guard lock(r.mutex);
    r.events.clear();
    r.dropped = 0;
    r.capacity = capacity;
    ring_flags.fetch_or(kRecording, std::memory_order_relaxed);
}

void ring_stop() { ring_flags.fetch_and(~kRecording, std::memory_order_relaxed); }

std::vector<RingEvent> ring_take(uint64_t* dropped) {
    Ring& r = ring();
    std::lock_guard lock(r.mutex);
    std::vector<RingEvent> taken(r.events.begin(), r.events.end());
    r.events.clear();
    if (dropped) *dropped = r.dropped;
    r.dropped = 0;
    return taken;
}

bool set_no_hidden_copies(bool on) {
    bool before = modes().no_hidden_copies;
    if (before == on) return before;
    modes().no_hidden_copies = on;
    Ring& r = ring();
    std::lock_guard lock(r.mutex);
    r.forbidding += on ? 1 : -1;
    if (r.forbidding > 0) {
        ring_flags.fetch_or(kForbidding, std::memory_order_relaxed);
    } else {
        ring_flags.fetch_and(~kForbidding, std::memory_order_relaxed);
    }
    return before;
}

const char* ring_intern(std::string_view text) {
    Ring& r = ring();
    std::lock_guard lock(r.mutex);
    auto found = r.texts.find(text);
    if (found == r.texts.end()) found = r.texts.emplace(text).first;
    return found->c_str();
}

}  // namespace tenora
