// Memory spaces and devices. A device is a memory space plus an index: `cpu`, `cuda:0`, a stranger's `npu:1`.
//   - Space 0 is always the host, "cpu", with a built-in raw
//     allocator, so that tensors exist before any backend loads.
//   - Backends that declare the same device type share the
//     space; the first one supplies the memory functions.
//   - Spaces are never removed; their numbers are process-local.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenora_backend.h"

namespace tenora {

struct Device {
    uint8_t space = 0;
    uint8_t index = 0;
    bool operator==(const Device&) const = default;
};

class CachingAllocator;
struct Stream;

// What the engine keeps per device of a space. Made on first use, never removed.
struct DeviceState {
    std::atomic<CachingAllocator*> allocator{nullptr};
    std::atomic<Stream*> default_stream{nullptr};
    std::atomic<bool> lost{false};  // TNR_DEVICE_LOST was seen: sticky
};

struct Space {
    uint8_t id = 0;
    std::string name;       // "cpu", "cuda"
    tnr_space functions{};  // copied, zero-filled beyond the backend's struct_size
    std::string provider;   // backend that supplied the functions
    bool host_accessible() const { return functions.host_accessible != 0; }
    bool host_order() const { return functions.host_order != 0; }
    int device_count() const;
    CachingAllocator& allocator(uint8_t index);  // created on first use; an index out of range is an Error
    std::array<DeviceState, 256> devices;
};

inline constexpr int kMaxSpaces = 16;
extern std::atomic<Space*> space_table[kMaxSpaces];
Space& space_slow(uint8_t id);  // makes the host space; throws on an unknown number
inline Space& space(uint8_t id) {
    Space* found = id < kMaxSpaces ? space_table[id].load(std::memory_order_acquire) : nullptr;
    return found ? *found : space_slow(id);
}
inline Space& space(Device device) { return space(device.space); }
int find_space(std::string_view name);  // -1 when unknown
Space& add_space(const tnr_space& functions,
                 std::string_view provider);  // returns the existing one of that name; throws on a lie
std::string to_string(Device device);         // "cpu", "cuda:0"

int space_count();
void check_device(Device device);  // index in range and not lost, else an Error

// Turns a status of a backend's function into an Error that names
// op, action, device; TNR_DEVICE_LOST sticks to the device.
void check_status(int32_t status, Device device, std::string_view op, std::string_view action,
                  const char* text = nullptr);

// Gives every device's cached memory, idle streams and
// events back. Once, at exit, before the backends' shutdown.
void shutdown_spaces();

}  // namespace tenora
