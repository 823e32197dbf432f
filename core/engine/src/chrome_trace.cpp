// Chrome's trace format (also Perfetto's): one complete event ("X") per ring event, times in microseconds.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "tenora/ring.h"

namespace tenora {
namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", unsigned(static_cast<unsigned char>(c)));
            out += code;
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string microseconds(uint64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%llu.%03u", static_cast<unsigned long long>(ns / 1000),
                  unsigned(ns % 1000));
    return text;
}

std::string event_name(const RingEvent& e) {
    if (e.op < op_count()) return std::string(op(e.op).display());
    return e.detail ? e.detail : ring_kind_name(e.kind);
}

std::string one_event(const RingEvent& e, uint64_t origin, int pid) {
    uint64_t end = std::max(e.begin_ns, e.end_ns);
    std::string text = "{\"name\":" + quoted(event_name(e)) + ",\"cat\":" + quoted(ring_kind_name(e.kind)) +
                       ",\"ph\":\"X\",\"ts\":" + microseconds(e.begin_ns - origin) +
                       ",\"dur\":" + microseconds(end - e.begin_ns) + ",\"pid\":" + std::to_string(pid) +
                       ",\"tid\":" + std::to_string(e.thread) +
                       ",\"args\":{\"bytes\":" + std::to_string(e.bytes) +
                       ",\"stream\":" + std::to_string(e.stream);
    if (e.backend != kNoBackend) text += ",\"backend\":" + quoted(backend(e.backend).name);
    if (e.hidden) text += ",\"hidden\":true";
    if (e.detail) text += ",\"detail\":" + quoted(e.detail);
    return text + "}}";
}

}  // namespace

std::string chrome_trace(const std::vector<RingEvent>& events) {
    uint64_t origin = events.empty() ? 0 : events.front().begin_ns;
    std::set<uint32_t> threads;
    for (const RingEvent& e : events) {
        origin = std::min(origin, e.begin_ns);
        threads.insert(e.thread);
    }
    int pid = int(getpid());
    std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    const char* separator = "\n";
    for (uint32_t thread : threads) {
        text += separator;
        text += "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":" + std::to_string(pid) +
                ",\"tid\":" + std::to_string(thread) + ",\"args\":{\"name\":\"thread " +
                std::to_string(thread) + "\"}}";
        separator = ",\n";
    }
    for (const RingEvent& e : events) {
        text += separator;
        text += one_event(e, origin, pid);
        separator = ",\n";
    }
    return text + "\n]}\n";
}

}  // namespace tenora
