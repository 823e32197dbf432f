// The kernels each driver file offers; backend.cpp collects them into the table.
#pragma once

#include <vector>

#include "call.h"
#include "tables.h"

namespace tenora::cpu {

inline constexpr uint32_t kAnyLayout =
    TNR_KERNEL_STRIDED | TNR_KERNEL_NEGATIVE_STRIDES | TNR_KERNEL_STRIDED_OUT;

// Called after `tables` is filled; the entries live as long as the library.
using Kernels = std::vector<tnr_kernel>;
void add_kernel(Kernels& kernels, const char* op, tnr_kernel_fn run, uint32_t dtypes, uint32_t flags,
                void* state = nullptr);

void add_pointwise(Kernels& kernels);
void add_select(Kernels& kernels);
void add_copies(Kernels& kernels);
void add_reductions(Kernels& kernels);
void add_scans(Kernels& kernels);
void add_sorts(Kernels& kernels);
void add_indexing(Kernels& kernels);
void add_folds(Kernels& kernels);
void add_random(Kernels& kernels);
void add_matmul(Kernels& kernels);
void add_fused(Kernels& kernels);
void add_steps(Kernels& kernels);
void add_losses(Kernels& kernels);
void add_convolutions(Kernels& kernels);
void add_pools(Kernels& kernels);
void add_distances(Kernels& kernels);
void add_standards(Kernels& kernels);
void add_channels(Kernels& kernels);
void add_special(Kernels& kernels);

}  // namespace tenora::cpu
