// The memory space `sim` as the C ABI wants it.
#pragma once

#include "tenora_backend.h"

namespace tenora::sim {

tnr_space sim_space();

}  // namespace tenora::sim
