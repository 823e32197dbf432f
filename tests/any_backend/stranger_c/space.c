/* The memory of device type "rock", and the table that tenora asks for. Work is finished when a call returns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stranger.h"

static int32_t rock_count(void* state) {
    (void)state;
    return 2;
}

static int32_t rock_alloc(void* state, int32_t device, size_t bytes, void** out, char* error, size_t size) {
    (void)state;
    char* memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        snprintf(error, size, "rock:%d has no %zu bytes", device, bytes);
        return TNR_OUT_OF_MEMORY;
    }
    *out = (void*)((uintptr_t)memory + ROCK_BIAS);
    return TNR_OK;
}

static int32_t rock_release(void* state, int32_t device, void* data, size_t bytes) {
    (void)state, (void)device, (void)bytes;
    free(rock_pointer(data));
    return TNR_OK;
}

static int32_t rock_copy(void* state, void* dst, int32_t dst_device, const void* src, int32_t src_device,
                         size_t bytes, int32_t kind, void* stream, char* error, size_t size) {
    (void)state, (void)dst_device, (void)src_device, (void)stream, (void)error, (void)size;
    memcpy(kind == 1 ? (char*)dst : rock_pointer(dst), kind == 0 ? (const char*)src : rock_pointer(src),
           bytes);
    return TNR_OK;
}

const tnr_space rock_space = {
    .struct_size = sizeof(tnr_space),
    .device_type = "rock",
    .dlpack_type = 12,
    .host_accessible = 0,
    .host_order = 1,
    .granule = 256,
    .alignment = 64,
    .device_count = rock_count,
    .alloc = rock_alloc,
    .release = rock_release,
    .copy_bytes = rock_copy,
};

static int patience = 3;

static int32_t set_option(const char* option, const char* value, char* error, size_t size) {
    if (strcmp(option, "patience") != 0) {
        snprintf(error, size, "no option %s", option);
        return TNR_BAD_VALUE;
    }
    patience = atoi(value);
    return TNR_OK;
}

TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host* host) {
    static const tnr_space* const spaces[] = {&rock_space};
    static tnr_backend backend;
    if (host->abi_version < TNR_ABI_VERSION) return NULL;
    backend = (tnr_backend){
        .struct_size = sizeof(tnr_backend),
        .abi_version = TNR_ABI_VERSION,
        .name = "stranger_c",
        .version = "0.3.0",
        .opset_version = "1.0",
        .spaces = spaces,
        .n_spaces = 1,
        .n_kernels = rock_kernel_count,
        .kernels = rock_kernels,
        .set_option = set_option,
    };
    return &backend;
}
