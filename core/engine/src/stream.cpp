// Streams and events over the backend's functions. Policy in stream.h.
//   - Lock: `mutex` guards the slots and the idle streams; creating a backend's stream runs under it.
#include "tenora/stream.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "deferred.h"
#include "fork_locks.h"
#include "streams.h"
#include "tenora/error.h"
#include "tenora/modes.h"
#include "tenora/ring.h"

namespace tenora {
namespace {

constexpr int kSlots = 64;
constexpr int kReserved = 16;  // the last slots are for default streams

struct Table {
    std::mutex mutex;
    std::atomic<Stream*> slots[kSlots]{};
    int used = 0;               // mutex
    std::vector<Stream*> idle;  // mutex: no reference left, free to be handed out again
    std::vector<Stream*> dead;  // mutex: after destroy_all_streams
    size_t turn = 0;            // mutex: next stream to share when the slots are used up
    Table() { protect_at_fork(mutex, ForkOrder::Spaces); }
};

Table& table() {
    static Table& immortal = *new Table;
    return immortal;
}

void refuse_host_order(Device device, const char* what) {
    if (!space(device).host_order()) return;
    fail(ErrorKind::Runtime, "device", what,
         "device " + to_string(device) + " works in host order: got a request for one" +
             ", expected a device with streams. Leave it out: work is finished when a call returns.");
}

// The table's lock is held.
Stream* make_stream(Device device, int priority) {
    Table& t = table();
    const tnr_space& f = space(device).functions;
    void* handle = nullptr;
    check_status(f.stream_create(f.state, device.index, priority, &handle), device, "stream",
                 "stream_create");
    auto* stream = new Stream;
    stream->device = device;
    stream->handle = handle;
    stream->priority = priority;
    stream->slot = uint8_t(t.used);
    t.slots[t.used++].store(stream, std::memory_order_release);
    return stream;
}

// The one released last, whose cached memory is warmest.
Stream* idle_stream(Device device, int priority) {
    Table& t = table();
    auto fits = [&](Stream* s) { return s->device == device && s->priority == priority; };
    auto found = std::find_if(t.idle.rbegin(), t.idle.rend(), fits);
    if (found == t.idle.rend()) return nullptr;
    Stream* stream = *found;
    t.idle.erase(std::next(found).base());
    stream->count.store(1, std::memory_order_relaxed);
    return stream;
}

// All slots are taken: hand out a living stream of the device once more, in turn.
Stream* shared_stream(Device device) {
    Table& t = table();
    for (int i = 0; i < t.used; ++i) {
        Stream* s = t.slots[(t.turn + size_t(i)) % size_t(t.used)].load(std::memory_order_relaxed);
        if (!s || s->device != device || std::find(t.idle.begin(), t.idle.end(), s) != t.idle.end()) continue;
        t.turn = (t.turn + size_t(i) + 1) % size_t(t.used);
        s->retain();
        return s;
    }
    fail(ErrorKind::Runtime, "stream", "stream",
         "too many streams: got a request for one more on " + to_string(device) + ", expected at most " +
             std::to_string(kSlots - kReserved) + " in the process. Keep streams and use them again.");
}

class Waiting {  // one Wait event of the ring around a synchronising call
  public:
    Waiting(const char* detail, const Stream* stream)
        : detail_(detail), stream_(stream), begin_(ring_on() ? ring_now() : 0) {}
    void finish() const {
        if (!begin_ || !ring_on()) return;
        RingEvent event{};
        event.kind = RingKind::Wait;
        event.op = kNoOp;
        event.backend = kNoBackend;
        event.stream = stream_ ? stream_->slot : 0;
        event.begin_ns = begin_;
        event.end_ns = ring_now();
        event.detail = detail_;
        ring_push(event);
    }

  private:
    const char* detail_;
    const Stream* stream_;
    uint64_t begin_;
};

}  // namespace

Stream* stream_in_slot(unsigned slot) {
    return slot < kSlots ? table().slots[slot].load(std::memory_order_acquire) : nullptr;
}

void destroy_all_streams() {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    for (auto& slot : t.slots) {
        Stream* stream = slot.exchange(nullptr, std::memory_order_acq_rel);
        if (!stream) continue;
        const tnr_space& f = space(stream->device).functions;
        f.stream_destroy(f.state, stream->device.index, stream->handle);
        space(stream->device)
            .devices[stream->device.index]
            .default_stream.store(nullptr, std::memory_order_release);
        t.dead.push_back(stream);  // references may still be about; its slot is not used again
    }
    t.idle.clear();
}

void Stream::release() {
    if (count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Table& t = table();
    std::lock_guard lock(t.mutex);
    if (t.slots[slot].load(std::memory_order_relaxed) == this) t.idle.push_back(this);
}

StreamRef new_stream(Device device, int priority) {
    check_device(device);
    refuse_host_order(device, "stream");
    Table& t = table();
    std::lock_guard lock(t.mutex);
    if (Stream* stream = idle_stream(device, priority)) return StreamRef::steal(stream);
    if (t.used >= kSlots - kReserved) return StreamRef::steal(shared_stream(device));
    return StreamRef::steal(make_stream(device, priority));
}

Stream* default_stream(Device device) {
    Space& s = space(device);
    if (s.host_order()) return nullptr;
    std::atomic<Stream*>& place = s.devices[device.index].default_stream;
    if (Stream* stream = place.load(std::memory_order_acquire)) return stream;
    check_device(device);
    Table& t = table();
    std::lock_guard lock(t.mutex);
    if (Stream* stream = place.load(std::memory_order_relaxed)) return stream;
    Stream* stream = t.used < kSlots ? make_stream(device, 0) : shared_stream(device);
    stream->is_default = true;
    place.store(stream, std::memory_order_release);  // its first reference belongs to the device
    return stream;
}

Stream* current_stream(Device device) {
    auto* stream = static_cast<Stream*>(modes().stream[device.space]);
    return stream && stream->device == device ? stream : default_stream(device);
}

StreamRef set_current_stream(Device device, Stream* stream) {
    if (stream && stream->device != device) {
        fail(ErrorKind::Runtime, "stream", "set_current_stream",
             "stream of another device: got " + to_string(stream->device) + ", expected " +
                 to_string(device) + ". Make a stream on that device.");
    }
    if (stream) stream->retain();
    Modes& m = modes();
    auto previous = StreamRef::steal(static_cast<Stream*>(m.stream[device.space]));
    m.stream[device.space] = stream;
    m.device_index[device.space] = device.index;
    return previous;
}

StreamScope::StreamScope(Stream* stream) : stream_(stream) {
    if (!stream) return;
    index_ = modes().device_index[stream->device.space];
    before_ = set_current_stream(stream->device, stream);
}

StreamScope::~StreamScope() {
    if (!stream_) return;
    set_current_stream(before_ ? before_->device : stream_->device, before_.get());
    modes().device_index[stream_->device.space] = index_;
}

void synchronize(Stream* stream) {
    if (!stream) return;
    Waiting waiting("synchronize stream", stream);
    const tnr_space& f = space(stream->device).functions;
    char text[256] = "";
    check_status(f.stream_synchronize(f.state, stream->device.index, stream->handle, text, sizeof text),
                 stream->device, "synchronize", "stream_synchronize", text);
    waiting.finish();
    poll_deferred();
}

bool query(Stream* stream) {
    if (!stream) return true;
    const tnr_space& f = space(stream->device).functions;
    return f.stream_query(f.state, stream->device.index, stream->handle) != 0;
}

namespace {

void destroy_event(void* what, void*) {
    auto* event = static_cast<Event*>(what);
    const tnr_space& f = space(event->device).functions;
    f.event_destroy(f.state, event->device.index, event->handle);
    delete event;
}

}  // namespace

// The handle stays until the streams that record it or wait for
// it have passed that point: backends may look at it there.
void Event::release() {
    if (count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!handle) {
        delete this;
    } else if (uint64_t streams = involved.load(std::memory_order_relaxed)) {
        when_passed(streams, destroy_event, this, nullptr);
    } else {
        destroy_event(this, nullptr);
    }
}

EventRef new_event(Device device, bool timing) {
    check_device(device);
    refuse_host_order(device, "event");
    EventRef event = EventRef::steal(new Event);
    event->device = device;
    event->timing = timing;
    const tnr_space& f = space(device).functions;
    check_status(f.event_create(f.state, device.index, timing ? 1 : 0, &event->handle), device, "event",
                 "event_create");
    return event;
}

void record(Event* event, Stream* stream) {
    if (!stream || stream->device != event->device) {
        fail(ErrorKind::Runtime, "stream", "record_event",
             "event and stream differ: got a stream of " +
                 (stream ? to_string(stream->device) : "host order") + ", expected one of " +
                 to_string(event->device) + ". Make the event on the stream's device.");
    }
    const tnr_space& f = space(event->device).functions;
    check_status(f.event_record(f.state, event->device.index, event->handle, stream->handle), event->device,
                 "record_event", "event_record");
    event->recorded = true;
    event->involved.fetch_or(uint64_t{1} << stream->slot, std::memory_order_relaxed);
}

void wait(Stream* stream, Event* event) {
    if (!event->recorded) return;  // nothing to wait for, as in CUDA
    if (!stream || stream->device.space != event->device.space)
        return synchronize(event);  // no common queue: the host waits
    const tnr_space& f = space(stream->device).functions;
    check_status(f.stream_wait_event(f.state, stream->device.index, stream->handle, event->handle),
                 stream->device, "wait_event", "stream_wait_event");
    event->involved.fetch_or(uint64_t{1} << stream->slot, std::memory_order_relaxed);
}

void wait(Stream* stream, Stream* earlier) {
    if (!stream || !earlier || stream == earlier) return;
    EventRef event = new_event(earlier->device, false);
    record(event.get(), earlier);
    wait(stream, event.get());
}

void synchronize(Event* event) {
    if (!event->recorded) return;
    Waiting waiting("synchronize event", nullptr);
    const tnr_space& f = space(event->device).functions;
    char text[256] = "";
    check_status(f.event_synchronize(f.state, event->device.index, event->handle, text, sizeof text),
                 event->device, "synchronize", "event_synchronize", text);
    waiting.finish();
    poll_deferred();
}

bool query(Event* event) {
    if (!event->recorded) return true;
    const tnr_space& f = space(event->device).functions;
    return f.event_query(f.state, event->device.index, event->handle) != 0;
}

double elapsed_ms(Event* begin, Event* end) {
    const tnr_space& f = space(begin->device).functions;
    if (!f.event_elapsed_ms || !begin->timing || !end->timing || !begin->recorded || !end->recorded) {
        fail(ErrorKind::Runtime, "stream", "elapsed_time",
             std::string("no time between these events: got ") +
                 (f.event_elapsed_ms ? "events without timing or not recorded"
                                     : "a backend without event_elapsed_ms") +
                 ", expected two recorded events with timing=True. Make them with timing and record both.");
    }
    synchronize(end);
    return f.event_elapsed_ms(f.state, begin->device.index, begin->handle, end->handle);
}

void synchronize(Device device) {
    check_device(device);
    const tnr_space& f = space(device).functions;
    if (f.synchronize) {
        Waiting waiting("synchronize device", nullptr);
        char text[256] = "";
        check_status(f.synchronize(f.state, device.index, text, sizeof text), device, "synchronize",
                     "synchronize", text);
        waiting.finish();
    }
    poll_deferred();
}

}  // namespace tenora
