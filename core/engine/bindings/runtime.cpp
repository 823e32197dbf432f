// Counters, memory, the event ring, streams and events.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "generator_object.h"
#include "module_parts.h"
#include "plain_types.h"
#include "tenora/allocator.h"
#include "tenora/dispatch.h"
#include "tenora/gc_walk.h"
#include "tenora/modes.h"
#include "tenora/ring.h"
#include "tenora/stream.h"

namespace py = pybind11;
PYBIND11_DECLARE_HOLDER_TYPE(T, tenora::Ref<T>)

namespace tenora::python {

namespace {

Device device_of(const py::object& o) { return device_argument(o.ptr(), "device"); }

CachingAllocator& allocator_of(const py::object& o) {
    Device d = device_of(o);
    return space(d).allocator(d.index);
}

py::dict live_counts() {
    Live l = live();
    py::dict d;
    d["tensors"] = l.tensors;
    d["storages"] = l.storages;
    d["nodes"] = l.nodes;
    d["extras"] = l.extras;
    d["programs"] = l.programs;
    d["bytes"] = l.bytes;
    return d;
}

py::dict memory_stats(const py::object& device) {
    AllocatorStats s = allocator_of(device).stats();
    py::dict d;
    d["live_bytes"] = s.live_bytes;
    d["live_bytes_peak"] = s.live_bytes_peak;
    d["reserved_bytes"] = s.reserved_bytes;
    d["reserved_bytes_peak"] = s.reserved_bytes_peak;
    d["cached_bytes"] = s.cached_bytes;
    d["live_blocks"] = s.live_blocks;
    d["allocations"] = s.allocations;
    d["raw_allocations"] = s.raw_allocations;
    d["raw_releases"] = s.raw_releases;
    d["splits"] = s.splits;
    d["merges"] = s.merges;
    d["out_of_memory"] = s.out_of_memory;
    d["retries"] = s.retries;
    return d;
}

py::list memory_snapshot(const py::object& device) {
    py::list rows;
    for (const SegmentInfo& s : allocator_of(device).snapshot()) {
        py::dict d;
        d["address"] = s.address;
        d["bytes"] = s.bytes;
        d["stream"] = s.stream;
        d["blocks"] = s.blocks;
        rows.append(d);
    }
    return rows;
}

py::dict event_dict(const RingEvent& e) {
    py::dict d;
    d["kind"] = ring_kind_name(e.kind);
    d["op"] = e.op == kNoOp ? std::string() : op(e.op).spec.name;
    d["backend"] = e.backend == kNoBackend ? std::string() : backend(e.backend).name;
    d["hidden"] = e.hidden;
    d["thread"] = e.thread;
    d["stream"] = e.stream;
    d["bytes"] = e.bytes;
    d["begin_ns"] = e.begin_ns;
    d["end_ns"] = e.end_ns;
    d["detail"] = e.detail ? e.detail : "";
    return d;
}

py::tuple take_ring() {
    uint64_t dropped = 0;
    py::list rows;
    for (const RingEvent& e : ring_take(&dropped)) rows.append(event_dict(e));
    return py::make_tuple(rows, dropped);
}

RingKind kind_named(const std::string& name) {
    for (int k = 0; k <= int(RingKind::Mark); ++k) {
        if (name == ring_kind_name(RingKind(k))) return RingKind(k);
    }
    raise_kind(ErrorKind::Value, "value", "chrome_trace", "unknown event kind: got '" + name + "'.");
}

std::string chrome_trace_binding(const py::sequence& rows) {
    std::vector<RingEvent> events;
    for (const py::handle item : rows) {
        py::dict d = py::reinterpret_borrow<py::dict>(item);
        RingEvent e{};
        e.kind = kind_named(d["kind"].cast<std::string>());
        Op* found = find_op(d["op"].cast<std::string>());
        e.op = found ? found->id : kNoOp;
        int id = find_backend(d["backend"].cast<std::string>());
        e.backend = id < 0 ? kNoBackend : BackendId(id);
        e.hidden = d["hidden"].cast<bool>();
        e.thread = d["thread"].cast<uint32_t>();
        e.stream = d["stream"].cast<uint64_t>();
        e.bytes = d["bytes"].cast<uint64_t>();
        e.begin_ns = d["begin_ns"].cast<uint64_t>();
        e.end_ns = d["end_ns"].cast<uint64_t>();
        e.detail = ring_intern(d["detail"].cast<std::string>());
        events.push_back(e);
    }
    return chrome_trace(events);
}

void mark(const std::string& label) {
    uint64_t now = ring_now();
    ring_push({RingKind::Mark, kNoOp, kNoBackend, false, 0, 0, 0, now, now, ring_intern(label)});
}

py::object device_result(Device d) { return py::reinterpret_steal<py::object>(check(device_object(d))); }

StreamRef make_stream(const py::object& device, int priority) {
    return new_stream(device_of(device), priority);
}

// Streams are passed around as counted references; a host-order space has none (None).
StreamRef current(const py::object& device) { return StreamRef(current_stream(device_of(device))); }

StreamRef set_current(const py::object& stream, const py::object& device) {
    if (stream.is_none()) return set_current_stream(device_of(device), nullptr);
    StreamRef s = stream.cast<StreamRef>();
    return set_current_stream(s->device, s.get());
}

EventRef record_event(Stream& s, const py::object& event) {
    EventRef made = event.is_none() ? new_event(s.device, false) : event.cast<EventRef>();
    record(made.get(), &s);
    return made;
}

void add_streams(py::module_& m) {
    using py::arg;
    py::class_<Stream, StreamRef>(m, "Stream", "A queue of work on a device.")
        .def(py::init(&make_stream), arg("device"), arg("priority") = 0)
        .def_property_readonly("device", [](const Stream& s) { return device_result(s.device); })
        .def_property_readonly("is_default", [](const Stream& s) { return s.is_default; })
        .def_property_readonly("handle",
                               [](const Stream& s) { return reinterpret_cast<uintptr_t>(s.handle); })
        .def("synchronize",
             [](Stream& s) {
                 GilRelease free;
                 synchronize(&s);
             })
        .def("query", [](Stream& s) { return query(&s); })
        .def(
            "wait_event", [](Stream& s, Event& e) { wait(&s, &e); }, arg("event"))
        .def(
            "wait_stream", [](Stream& s, Stream& earlier) { wait(&s, &earlier); }, arg("stream"))
        .def("record_event", record_event, arg("event") = py::none());
    py::class_<Event, EventRef>(m, "Event", "A point in a stream.")
        .def(py::init(
                 [](const py::object& device, bool timing) { return new_event(device_of(device), timing); }),
             arg("device"), arg("timing") = false)
        .def_property_readonly("device", [](const Event& e) { return device_result(e.device); })
        .def(
            "record",
            [](Event& e, const py::object& s) {
                record(&e, s.is_none() ? current_stream(e.device) : s.cast<StreamRef>().get());
            },
            arg("stream") = py::none())
        .def(
            "wait",
            [](Event& e, const py::object& s) {
                wait(s.is_none() ? current_stream(e.device) : s.cast<StreamRef>().get(), &e);
            },
            arg("stream") = py::none())
        .def("synchronize",
             [](Event& e) {
                 GilRelease free;
                 synchronize(&e);
             })
        .def("query", [](Event& e) { return query(&e); })
        .def("elapsed_time", [](Event& a, Event& b) { return elapsed_ms(&a, &b); }, arg("end"));
}

void add_stream_functions(py::module_& m) {
    using py::arg;
    m.def("current_stream", current, arg("device") = py::none());
    m.def("set_current_stream", set_current, arg("stream"), arg("device") = py::none());
    m.def(
        "synchronize",
        [](const py::object& d) {
            Device device = device_of(d);
            GilRelease free;
            synchronize(device);
        },
        arg("device") = py::none());
    m.def(
        "current_device_index",
        [](const std::string& s) {
            int id = find_space(s);
            return id < 0 ? 0 : int(modes().device_index[id]);
        },
        arg("space"));
    m.def(
        "set_current_device_index",
        [](const py::object& d) {
            Device device = device_of(d);
            int old = modes().device_index[device.space];
            modes().device_index[device.space] = device.index;
            return old;
        },
        arg("device"));
    m.def(
        "device_count",
        [](const std::string& s) {
            int id = find_space(s);
            return id < 0 ? 0 : space(uint8_t(id)).device_count();
        },
        arg("space"));
}

}  // namespace

void add_runtime(PyObject* module) {
    py::module_ m = py::reinterpret_borrow<py::module_>(module);
    using py::arg;
    m.def("live", live_counts);
    m.def("payload_count", payload_count);
    m.def("memory_stats", memory_stats, arg("device") = py::none());
    m.def("memory_snapshot", memory_snapshot, arg("device") = py::none());
    m.def("empty_cache", [](const py::object& d) { allocator_of(d).trim(); }, arg("device") = py::none());
    m.def(
        "reset_peak_memory", [](const py::object& d) { allocator_of(d).reset_peaks(); },
        arg("device") = py::none());
    m.def(
        "set_memory_limit", [](size_t bytes, const py::object& d) { allocator_of(d).set_limit(bytes); },
        arg("bytes"), arg("device") = py::none());
    m.def("ring_start", ring_start, arg("capacity") = size_t(65536));
    m.def("ring_stop", ring_stop);
    m.def("ring_take", take_ring);
    m.def("ring_mark", mark, arg("label"));
    m.def("chrome_trace", chrome_trace_binding, arg("events"));
    m.def(
        "manual_seed", [](const py::object& seed) { manual_seed(seed_argument(seed.ptr(), "manual_seed")); },
        arg("seed"));
    add_streams(m);
    add_stream_functions(m);
    ready_generator_type(module);
}

}  // namespace tenora::python
