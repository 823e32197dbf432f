/* The border to tenora: the memory to compute in, which is the host's, and the table of kernels.
 *
 *   - All tables are constants: loading runs two lines of this library.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

#define ALIGNMENT 64

int32_t refuse(const tnr_call* call, int32_t status, const char* format, ...) {
    va_list values;
    va_start(values, format);
    if (call->error_size > 0) vsnprintf(call->error, call->error_size, format, values);
    va_end(values);
    return status;
}

static int32_t one_device(void* state) {
    (void)state;
    return 1;
}

static int32_t take(void* state, int32_t device, size_t bytes, void** out, char* error, size_t error_size) {
    (void)state, (void)device;
    *out = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (*out != NULL) return TNR_OK;
    snprintf(error, error_size, "the host has no %zu bytes", bytes);
    return TNR_OUT_OF_MEMORY;
}

static int32_t give_back(void* state, int32_t device, void* data, size_t bytes) {
    (void)state, (void)device, (void)bytes;
    free(data);
    return TNR_OK;
}

static const tnr_space host = {.struct_size = sizeof(tnr_space),
                               .device_type = "cpu",
                               .dlpack_type = 1,
                               .host_accessible = 1,
                               .host_order = 1,
                               .granule = ALIGNMENT,
                               .alignment = ALIGNMENT,
                               .device_count = one_device,
                               .alloc = take,
                               .release = give_back};
static const tnr_space* const spaces[] = {&host};

#define ADDRESS(op) &op##_kernel,
static const tnr_kernel* const kernels[] = {EACH_KERNEL(ADDRESS)};

static const tnr_backend backend = {.struct_size = sizeof(tnr_backend),
                                    .abi_version = TNR_ABI_VERSION,
                                    .name = "plain_c",
                                    .version = "0.1.0",
                                    .opset_version = "1.0",
                                    .spaces = spaces,
                                    .n_spaces = 1,
                                    .kernels = kernels,
                                    .n_kernels = sizeof kernels / sizeof kernels[0]};

TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host* tenora) {
    if (tenora->abi_version < TNR_ABI_VERSION)
        return NULL; /* what this header has, that tenora would not know */
    return &backend;
}
