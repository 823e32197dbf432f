// Matrix products for every dtype, for the drivers that need one.
#pragma once

#include "call.h"
#include "tables.h"

namespace tenora::cpu {

// Any strides; may throw std::bad_alloc. Returns a tnr_status.
int32_t matrix_product(const Gemm& g, tnr_dtype dtype);

// Runs `body`; memory that is not there becomes a status with a text.
int32_t guarded(const tnr_call* call, int32_t (*body)(const tnr_call*));

}  // namespace tenora::cpu
