/* A native backend that tells one lie, chosen at compile time with -DLIE=...; with no lie it is a sound one.
 */
#include <stdlib.h>

#include "tenora_backend.h"

#define SOUND 0
#define ABI_TOO_NEW 1
#define SHORT_TABLE 2
#define SHORT_KERNEL 3
#define NULL_KERNEL 4
#define UNKNOWN_OP 5
#define TWICE 6
#define OTHER_NAME 7
#define OTHER_OPSET 8
#define NULL_TABLE 9
#define NO_DTYPES 10
#define SPACE_WITHOUT_ALLOC 11
#define SHORT_SPACE 12
#define NULL_KERNEL_LIST 13
#define OTHER_DEVICE 14
#define UNKNOWN_FLAG 15

#ifndef NAME
#define NAME "liar"
#endif

static int32_t add(const tnr_call* call) {
    const float *a = call->in[0]->data, *b = call->in[1]->data;
    float* out = call->out[0]->data;
    int64_t count = 1;
    for (int d = 0; d < call->out[0]->ndim; d++) count *= call->out[0]->shape[d];
    for (int64_t i = 0; i < count; i++) out[i] = a[i] + b[i];
    return TNR_OK;
}

static const tnr_kernel sum_of_two = {
    .struct_size = LIE == SHORT_KERNEL ? 8 : sizeof(tnr_kernel),
    .flags = LIE == UNKNOWN_FLAG ? 0x8000u : 0,
    .op = LIE == UNKNOWN_OP ? "addd" : "add",
    .run = LIE == NULL_KERNEL ? NULL : add,
    .dtypes = LIE == NO_DTYPES ? 0 : TNR_MASK(TNR_F32),
};
static const tnr_kernel* const kernels[] = {&sum_of_two, &sum_of_two};

static int32_t one(void* state) {
    (void)state;
    return 1;
}

static int32_t grab(void* state, int32_t device, size_t bytes, void** out, char* error, size_t size) {
    (void)state, (void)device, (void)error, (void)size;
    *out = malloc(bytes);
    return *out ? TNR_OK : TNR_OUT_OF_MEMORY;
}

static int32_t drop(void* state, int32_t device, void* data, size_t bytes) {
    (void)state, (void)device, (void)bytes;
    free(data);
    return TNR_OK;
}

static const tnr_space space = {
    .struct_size = LIE == SHORT_SPACE ? 16 : sizeof(tnr_space),
    .device_type =
        LIE == OTHER_DEVICE || LIE == SPACE_WITHOUT_ALLOC || LIE == SHORT_SPACE ? "liarland" : "cpu",
    .dlpack_type = LIE == OTHER_DEVICE || LIE == SPACE_WITHOUT_ALLOC || LIE == SHORT_SPACE ? 12 : 1,
    .host_accessible = 1,
    .host_order = 1,
    .device_count = one,
    .alloc = LIE == SPACE_WITHOUT_ALLOC ? NULL : grab,
    .release = drop,
};
static const tnr_space* const spaces[] = {&space};

#if LIE != 16 /* the library without the symbol */
TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host* host) {
    static const tnr_backend table = {
        .struct_size = LIE == SHORT_TABLE ? 24 : sizeof(tnr_backend),
        .abi_version = LIE == ABI_TOO_NEW ? 99 : TNR_ABI_VERSION,
        .name = LIE == OTHER_NAME ? "truth" : NAME,
        .version = "1.0",
        .opset_version = LIE == OTHER_OPSET ? "77.0" : OPSET,
        .spaces = spaces,
        .n_spaces = 1,
        .n_kernels = LIE == TWICE ? 2 : 1,
        .kernels = LIE == NULL_KERNEL_LIST ? NULL : kernels,
    };
    (void)host;
    return LIE == NULL_TABLE ? NULL : &table;
}
#endif
