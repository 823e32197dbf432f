// The event ring: off by one flag test; profiler, provenance,
// fallback counts and no_hidden_copies() all read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tenora/op.h"

namespace tenora {

enum class RingKind : uint8_t {
    Kernel,
    Copy,
    Layout,
    Cast,
    Transfer,
    Wait,
    Pack,
    Fallback,
    Allocation,
    Backward,
    Mark
};

struct RingEvent {
    RingKind kind;
    OpId op;
    BackendId backend;
    bool hidden;  // hidden: the user did not ask for it
    uint32_t thread;
    uint64_t stream;
    uint64_t bytes;
    uint64_t begin_ns, end_ns;
    const char* detail;  // static text or interned
};

extern std::atomic<uint32_t> ring_flags;  // 0 = off; bit 0 recording, bit 1 no_hidden_copies somewhere
inline bool ring_on() { return ring_flags.load(std::memory_order_relaxed) != 0; }

uint64_t ring_now();  // nanoseconds, monotonic
// Records the event (`thread` is filled in here); raises HiddenCopy
// when it is hidden and the mode of this thread says so.
void ring_push(const RingEvent& event);
// The same refusal before the work is done: call it ahead
// of a hidden copy, wait or transfer. Nothing is recorded.
void ring_refuse_hidden(RingKind kind, OpId op, uint64_t bytes, const char* detail);
bool set_no_hidden_copies(bool on);  // of this thread; returns the old value
uint32_t ring_thread();              // small number of this thread
const char* ring_kind_name(RingKind kind);
void ring_start(size_t capacity);
void ring_stop();
std::vector<RingEvent> ring_take(uint64_t* dropped);             // oldest first; empties
std::string chrome_trace(const std::vector<RingEvent>& events);  // JSON for chrome://tracing and Perfetto
const char* ring_intern(std::string_view text);

}  // namespace tenora
