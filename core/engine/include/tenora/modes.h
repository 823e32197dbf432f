// Thread-local modes, kept small (initial-exec TLS): what a call consults before anything else.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenora/op.h"

namespace tenora {

struct Modes {
    bool grad = true;        // no_grad / enable_grad
    bool inference = false;  // inference_mode
    bool anomaly = false;
    bool check_nan = true;  // in anomaly mode a gradient with a NaN is an error
    bool in_backward = false;
    bool saved_hooks = false;  // what the tape saves goes through hooks().pack_saved
    uint8_t fallback = 0;      // 0 error, 1 warn, 2 allow
    bool no_hidden_copies = false;
    bool holds_gil = true;  // false while a native stretch runs without it (set by the bindings)
    BackendId override_backend[kMaxSpaces];  // use_backend(); kNoBackend = the default of the space
    void* stream[kMaxSpaces];  // current Stream* per space's current device (null: the default stream)
    uint8_t device_index[kMaxSpaces];
    constexpr Modes() : override_backend(), stream(), device_index() {
        for (BackendId& id : override_backend) id = kNoBackend;
    }
};
extern constinit thread_local Modes modes_storage;  // constant-initialised: an access is one load, no guard
inline Modes& modes() { return modes_storage; }

extern std::atomic<BackendId> default_backends[kMaxSpaces];  // process defaults; kNoBackend = not chosen yet
BackendId choose_backend(uint8_t space);  // asks the chooser hook; throws when there is none

// Backend that computes on a space now: override of the thread,
// else the process default, else asks the chooser hook.
inline BackendId current_backend(uint8_t space) {
    BackendId id = modes_storage.override_backend[space];
    if (id != kNoBackend) return id;
    id = default_backends[space].load(std::memory_order_acquire);
    return id != kNoBackend ? id : choose_backend(space);
}
void set_default_backend(uint8_t space, BackendId backend);  // kNoBackend clears

}  // namespace tenora
