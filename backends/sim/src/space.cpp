// Nothing but translation: from the functions of tnr_space to the simulator.
#include "space.h"

#include "simulator.h"

namespace tenora::sim {
namespace {

Stream& stream_of(void* stream) { return *static_cast<Stream*>(stream); }
Event& event_of(void* event) { return *static_cast<Event*>(event); }

// Runs a function that returns a status; no exception leaves it.
template <class F>
int32_t guarded(F&& f) {
    try {
        return f();
    } catch (...) {
        return TNR_ERROR;
    }
}

int32_t device_count(void*) { return simulator().device_count(); }

int32_t alloc(void*, int32_t device, size_t bytes, void** out, char* error, size_t size) {
    return guarded([&] { return simulator().allocate(device, bytes, out, {error, size}); });
}

int32_t release(void*, int32_t device, void* data, size_t) {
    return guarded([&] { return simulator().release(device, data); });
}

int32_t host_alloc(void*, size_t bytes, void** out, char* error, size_t size) {
    return guarded([&] { return simulator().pin(bytes, out, {error, size}); });
}

int32_t host_release(void*, void* data, size_t) {
    return guarded([&] { return simulator().unpin(data); });
}

int32_t memory_info(void*, int32_t device, size_t* free_bytes, size_t* total_bytes) {
    simulator().memory_info(device, free_bytes, total_bytes);
    return TNR_OK;
}

int32_t copy_bytes(void*, void* target, int32_t, const void* source, int32_t, size_t bytes, int32_t kind,
                   void* stream, char* error, size_t size) {
    const Simulator::Copy copy{static_cast<char*>(target), static_cast<const char*>(source), bytes, kind == 0,
                               kind == 1};
    return guarded([&] { return simulator().copy(copy, stream_of(stream), {error, size}); });
}

int32_t stream_create(void*, int32_t device, int32_t, void** out) {
    return guarded([&] {
        *out = simulator().make_stream(device);
        return int32_t{TNR_OK};
    });
}

int32_t stream_synchronize(void*, int32_t, void* stream, char* error, size_t size) {
    return guarded([&] { return simulator().finish(stream_of(stream), {error, size}); });
}

// Streams stay: clocks name them.
int32_t stream_destroy(void* state, int32_t device, void* stream) {
    return stream_synchronize(state, device, stream, nullptr, 0);
}

int32_t stream_query(void*, int32_t, void* stream) { return simulator().idle(stream_of(stream)); }

int32_t stream_wait_event(void*, int32_t, void* stream, void* event) {
    return guarded([&] { return simulator().wait(stream_of(stream), event_of(event)); });
}

int32_t event_create(void*, int32_t, int32_t, void** out) {
    return guarded([&] {
        *out = new Event;
        return int32_t{TNR_OK};
    });
}

int32_t event_destroy(void*, int32_t, void* event) {
    delete &event_of(event);
    return TNR_OK;
}

int32_t event_record(void*, int32_t, void* event, void* stream) {
    return guarded([&] { return simulator().record(event_of(event), stream_of(stream)); });
}

int32_t event_query(void*, int32_t, void* event) { return simulator().reached(event_of(event)); }

int32_t event_synchronize(void*, int32_t device, void* event, char* error, size_t size) {
    return guarded([&] { return simulator().finish(device, event_of(event), {error, size}); });
}

double event_elapsed_ms(void*, int32_t, void* begin, void* end) {
    return (event_of(end).record->end - event_of(begin).record->end) / 1e6;
}

int32_t synchronize(void*, int32_t device, char* error, size_t size) {
    return guarded([&] { return simulator().finish_device(device, {error, size}); });
}

}  // namespace

tnr_space sim_space() {
    tnr_space space = {};
    space.struct_size = sizeof(tnr_space);
    space.device_type = "sim";
    space.dlpack_type = 12;  // kDLExtDev
    space.granule = 512;
    space.alignment = 512;
    space.device_count = device_count;
    space.alloc = alloc;
    space.release = release;
    space.memory_info = memory_info;
    space.copy_bytes = copy_bytes;
    space.stream_create = stream_create;
    space.stream_destroy = stream_destroy;
    space.stream_synchronize = stream_synchronize;
    space.stream_query = stream_query;
    space.stream_wait_event = stream_wait_event;
    space.event_create = event_create;
    space.event_destroy = event_destroy;
    space.event_record = event_record;
    space.event_query = event_query;
    space.event_synchronize = event_synchronize;
    space.event_elapsed_ms = event_elapsed_ms;
    space.synchronize = synchronize;
    space.host_alloc = host_alloc;
    space.host_release = host_release;
    return space;
}

}  // namespace tenora::sim
