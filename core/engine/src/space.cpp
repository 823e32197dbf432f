// Memory spaces. Registration trusts nothing: a short or lying
// struct is an Error that names the backend and the field.
//   - Space 0, the host, is made on first use; other numbers are given out in order and never reused.
//   - Lock: `mutex` guards registration and the making of allocators; look-up by number takes none.
#include "tenora/space.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <utility>

#include "deferred.h"
#include "fork_locks.h"
#include "host_memory.h"
#include "internal.h"
#include "segments.h"
#include "streams.h"
#include "tenora/error.h"

namespace tenora {

std::atomic<Space*> space_table[kMaxSpaces];

namespace {

struct Registry {
    std::mutex mutex;
    int count = 0;  // mutex
    Registry() { protect_at_fork(mutex, ForkOrder::Spaces); }
};

Space* insert(Registry& registry, const tnr_space& functions, std::string_view provider) {
    auto* made = new Space;
    made->id = uint8_t(registry.count);
    made->name = functions.device_type;
    made->functions = functions;
    made->functions.device_type = made->name.c_str();
    made->provider = provider;
    space_table[registry.count++].store(made, std::memory_order_release);
    return made;
}

Registry& registry() {
    static Registry& immortal = []() -> Registry& {
        auto* r = new Registry;
        insert(*r, host_functions(), "tenora");
        return *r;
    }();
    return immortal;
}

[[noreturn]] void lie(std::string_view provider, std::string_view field, const std::string& got,
                      const std::string& expected) {
    std::string name(provider);
    std::string text = "backend '" + name + "': tnr_space." + std::string(field) + " is wrong: got " + got +
                       ", expected " + expected + ". Rebuild or correct the backend.";
    Error error(ErrorKind::Runtime, "backend", "add_space", "[add_space] " + text);
    error.backend = name;
    throw error;
}

bool good_name(const char* name) {
    if (!name || !(*name >= 'a' && *name <= 'z')) return false;
    size_t n = 0;
    for (; name[n]; ++n) {
        char c = name[n];
        if (n >= 31 || !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return true;
}

void check_size(std::string_view provider, const char* field, size_t value) {
    if (value & (value - 1) || value > (size_t{1} << 30)) {
        lie(provider, field, std::to_string(value), "a power of two up to 2^30, or 0 for 64");
    }
}

void check_flag(std::string_view provider, const char* field, int32_t value) {
    if (value != 0 && value != 1) lie(provider, field, std::to_string(value), "0 or 1");
}

// Only the fields that the backend's struct has; the rest zero.
tnr_space read_struct(const tnr_space& given, std::string_view provider) {
    constexpr size_t kLeast = offsetof(tnr_space, synchronize) + sizeof(given.synchronize);
    if (given.struct_size < kLeast || given.struct_size > (1u << 16)) {
        lie(provider, "struct_size", std::to_string(given.struct_size) + " bytes",
            "at least " + std::to_string(kLeast) + " (all fields up to `synchronize`)");
    }
    tnr_space copy{};
    std::memcpy(&copy, &given, std::min<size_t>(given.struct_size, sizeof copy));
    return copy;
}

tnr_space validated(const tnr_space& given, std::string_view provider) {
    tnr_space s = read_struct(given, provider);
    if (!good_name(s.device_type)) {
        lie(provider, "device_type",
            s.device_type ? std::string("'").append(s.device_type, strnlen(s.device_type, 40)).append("'")
                          : "NULL",
            "a lower-case name of at most 31 letters, digits and underscores");
    }
    check_flag(provider, "host_accessible", s.host_accessible);
    check_flag(provider, "host_order", s.host_order);
    check_flag(provider, "own_pool", s.own_pool);
    check_size(provider, "granule", s.granule);
    check_size(provider, "alignment", s.alignment);
    if (s.dlpack_type <= 0)
        lie(provider, "dlpack_type", std::to_string(s.dlpack_type), "a DLPack device type above 0");
    auto need = [&](bool present, const char* field, const char* why) {
        if (!present) lie(provider, field, "NULL", std::string("a function (required") + why + ")");
    };
    need(s.device_count, "device_count", "");
    need(s.alloc, "alloc", "");
    need(s.release, "release", "");
    if (!s.host_accessible) need(s.copy_bytes, "copy_bytes", " unless host_accessible");
    if (!s.host_order) {
        constexpr const char* kWhy = " unless host_order";
        need(s.stream_create, "stream_create", kWhy);
        need(s.stream_destroy, "stream_destroy", kWhy);
        need(s.stream_synchronize, "stream_synchronize", kWhy);
        need(s.stream_query, "stream_query", kWhy);
        need(s.stream_wait_event, "stream_wait_event", kWhy);
        need(s.event_create, "event_create", kWhy);
        need(s.event_destroy, "event_destroy", kWhy);
        need(s.event_record, "event_record", kWhy);
        need(s.event_query, "event_query", kWhy);
        need(s.event_synchronize, "event_synchronize", kWhy);
        need(s.synchronize, "synchronize", kWhy);
    }
    if (!s.host_alloc != !s.host_release)
        lie(provider, s.host_alloc ? "host_release" : "host_alloc", "NULL",
            s.host_alloc ? "a function, as host_alloc is one" : "a function, as host_release is one");
    if (!s.granule) s.granule = 64;
    if (!s.alignment) s.alignment = 64;
    return s;
}

// A second backend of a known device type must describe the same kind of memory.
void check_same(const Space& known, const tnr_space& s, std::string_view provider) {
    auto same = [&](const char* field, int32_t got, int32_t expected) {
        if (got == expected) return;
        lie(provider, field, std::to_string(got),
            std::to_string(expected) + ", as backend '" + known.provider + "' declared for device type '" +
                known.name + "'");
    };
    same("dlpack_type", s.dlpack_type, known.functions.dlpack_type);
    same("host_accessible", s.host_accessible, known.functions.host_accessible);
    same("host_order", s.host_order, known.functions.host_order);
}

CachingAllocator* make_allocator(const Space& s, uint8_t index) {
    Device device{s.id, index};
    if (s.id == 0) return new HostAllocator;
    if (s.functions.own_pool) return new DirectAllocator(device, nullptr);
    return new SegmentAllocator(device, SegmentPolicy{s.functions.granule, s.functions.alignment});
}

}  // namespace

int Space::device_count() const { return functions.device_count(functions.state); }

CachingAllocator& Space::allocator(uint8_t index) {
    std::atomic<CachingAllocator*>& slot = devices[index].allocator;
    if (CachingAllocator* made = slot.load(std::memory_order_acquire)) return *made;
    check_device(Device{id, index});
    std::lock_guard lock(registry().mutex);
    if (!slot.load(std::memory_order_relaxed))
        slot.store(make_allocator(*this, index), std::memory_order_release);
    return *slot.load(std::memory_order_relaxed);
}

Space& space_slow(uint8_t id) {
    registry();
    Space* found = id < kMaxSpaces ? space_table[id].load(std::memory_order_acquire) : nullptr;
    if (found) return *found;
    fail(ErrorKind::Runtime, "device", "space",
         "unknown memory space: got number " + std::to_string(id) + ", expected one below " +
             std::to_string(space_count()) + ". Load the backend that serves it.");
}

int space_count() {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    return r.count;
}

int find_space(std::string_view name) {
    registry();
    for (int i = 0; i < kMaxSpaces; ++i) {
        Space* s = space_table[i].load(std::memory_order_acquire);
        if (!s) break;
        if (s->name == name) return i;
    }
    return -1;
}

Space& add_space(const tnr_space& given, std::string_view provider) {
    tnr_space functions = validated(given, provider);
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    int known = find_space(functions.device_type);
    if (known >= 0) {
        Space& s = *space_table[known].load(std::memory_order_acquire);
        check_same(s, functions, provider);
        return s;
    }
    if (r.count == kMaxSpaces) {
        lie(provider, "device_type",
            "'" + std::string(functions.device_type) + "', the " + std::to_string(r.count + 1) + "th",
            "at most " + std::to_string(kMaxSpaces) + " device types in one process");
    }
    return *insert(r, functions, provider);
}

std::string to_string(Device device) {
    const Space& s = space(device);
    return device.space == 0 ? s.name : s.name + ":" + std::to_string(device.index);
}

void check_device(Device device) {
    Space& s = space(device);
    if (s.devices[device.index].lost.load(std::memory_order_relaxed)) {
        fail(ErrorKind::DeviceLost, "device", "device",
             "device " + to_string(device) +
                 " was lost in an earlier call: got another call on it, expected none. Start the "
                 "process anew.");
    }
    int count = s.device_count();
    if (device.index < count) return;
    fail(ErrorKind::Runtime, "device", "device",
         "no such device: got " + s.name + ":" + std::to_string(device.index) + ", expected an index below " +
             std::to_string(std::max(count, 0)) + ". Choose one of the devices present.");
}

void check_status(int32_t status, Device device, std::string_view op, std::string_view action,
                  const char* text) {
    if (status == TNR_OK) return;
    Space& s = space(device);
    if (status == TNR_DEVICE_LOST) s.devices[device.index].lost.store(true, std::memory_order_relaxed);
    std::string message = std::string(action) + " failed on " + to_string(device) + ": got " +
                          (text && *text ? std::string("'").append(text).append("'") : "no text") +
                          " (status " + std::to_string(status) + " of backend '" + s.provider +
                          "'), expected success. See the backend's documentation.";
    try {
        StatusMeaning meaning = meaning_of(status);
        fail(meaning.kind, status == TNR_ERROR ? "backend" : meaning.code, op, std::move(message));
    } catch (Error& error) {
        error.backend = s.provider;
        throw;
    }
}

void shutdown_spaces() {
    finish_deferred();
    for (int i = 1; i < space_count(); ++i) {
        Space& s = space(uint8_t(i));
        for (DeviceState& state : s.devices) {
            if (CachingAllocator* allocator = state.allocator.load(std::memory_order_acquire))
                allocator->trim();
        }
    }
    finish_deferred();
    drop_event_handles();
    destroy_all_streams();
}

}  // namespace tenora
