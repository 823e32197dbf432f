// Raw host memory below the pool: big blocks are mapped, aligned
// to huge pages and advised; small ones come from malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenora_backend.h"

namespace tenora {

inline constexpr size_t kHugePage = size_t{2} << 20;

void* host_map(size_t bytes,
               bool huge_advice);  // multiple of kHugePage, aligned to it; null when there is none
void host_unmap(void* data, size_t bytes);
const tnr_space& host_functions();  // the built-in functions of space 0

}  // namespace tenora
