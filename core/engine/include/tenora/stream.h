// Streams and events, and the rule that keeps memory safe across streams.
//   - The engine owns the current stream per thread and space;
//     a host-order space has only the trivial stream (null).
//   - Every operand of a kernel launched on stream S whose storage was allocated
//     on another stream is marked as used by S; on free its block waits for
//     events recorded on every such stream before reuse. Authors do nothing.
//   - Slots (bits of Storage::streams) are numbered over all devices, so a host
//     buffer or a peer's memory that a device stream reads is guarded alike. A
//     stream whose last reference went stays with its slot and is handed out again
//     by new_stream, so that a bit never names a dead stream. When the slots are
//     used up new_stream hands out a living stream of the device once more.
#pragma once

#include "tenora/tensor.h"

namespace tenora {

struct Stream {
    std::atomic<uint32_t> count{1};
    Device device;
    void* handle = nullptr;  // the backend's
    uint8_t slot = 0;        // bit in Storage::streams
    int priority = 0;
    bool is_default = false;
    void retain() { count.fetch_add(1, std::memory_order_relaxed); }
    void release();
};
using StreamRef = Ref<Stream>;

StreamRef new_stream(Device device, int priority);
Stream* default_stream(Device device);  // null for a host-order space
Stream* current_stream(Device device);
StreamRef set_current_stream(Device device, Stream* stream);  // returns the previous one
void synchronize(Stream* stream);
bool query(Stream* stream);

struct Event {
    std::atomic<uint32_t> count{1};
    Device device;
    void* handle = nullptr;
    bool timing = false;
    bool recorded = false;
    std::atomic<uint64_t> involved{0};  // slots of streams that record it or wait for it
    void retain() { count.fetch_add(1, std::memory_order_relaxed); }
    void release();
};
using EventRef = Ref<Event>;
EventRef new_event(Device device, bool timing);
void record(Event* event, Stream* stream);
void wait(Stream* stream, Event* event);
void wait(Stream* stream, Stream* earlier);  // for what `earlier` was given so far
void synchronize(Event* event);
bool query(Event* event);
double elapsed_ms(Event* begin, Event* end);

void synchronize(Device device);

// Cheap when same stream; a null stream (host order) needs no mark.
inline void mark_use(Storage* storage, Stream* stream) {
    if (!stream || storage->stream_slot == stream->slot) return;
    uint64_t bit = uint64_t{1} << stream->slot;
    if (!(storage->streams.load(std::memory_order_relaxed) & bit))
        storage->streams.fetch_or(bit, std::memory_order_release);
}

}  // namespace tenora
