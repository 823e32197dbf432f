/* What the two files of this backend share. */
#ifndef STRANGER_H
#define STRANGER_H

#include <stdint.h>

#include "tenora_backend.h"

/* Addresses of device type "rock" are real ones plus this: the host cannot touch them by accident and live.
 */
#define ROCK_BIAS ((uintptr_t)1 << 60)

static inline char* rock_pointer(const void* address) { return (char*)((uintptr_t)address - ROCK_BIAS); }

extern const tnr_space rock_space;
extern const tnr_kernel* const rock_kernels[];
extern const uint32_t rock_kernel_count;

#endif
