// How much of this thread's stack is left: what may call itself without bound looks before it leaps.
#pragma once

#include <cstddef>

namespace tenora {

// Room for whatever one level calls: Python, a kernel, an error on its way.
inline constexpr size_t kStackReserve = 192 << 10;

size_t stack_left();  // in bytes; very large where the platform does not tell

}  // namespace tenora
