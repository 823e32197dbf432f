// Locks that must be free in the child of a fork. They are taken in the order
// of registration before the fork and given back on both sides after it; a lock
// that is taken while another is held must be registered later than that one.
#pragma once

#include <mutex>

namespace tenora {

enum class ForkOrder : int { Workers, Segments, Deferred, Classes, Arenas, Registry, Ring, Spaces };
void protect_at_fork(std::mutex& mutex, ForkOrder order);

}  // namespace tenora
