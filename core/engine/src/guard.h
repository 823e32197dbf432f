// Kernels run under guard: `tenora.debug.guard`. Policy at the top of guard.cpp.
#pragma once

#include "tenora/op.h"

namespace tenora {

// The entry that runs `entry` under guard; the same one for the same kernel. Both are immortal.
// Under registry_mutex.
const KernelEntry* guarded_entry(const Op& op, BackendId id, const KernelEntry* entry);

// What a guarded entry runs; any other entry itself.
const KernelEntry* plain_entry(const KernelEntry* entry);

}  // namespace tenora
