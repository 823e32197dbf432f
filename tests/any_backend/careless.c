/* A native backend whose kernels are careless, each in one way; -DNAME is its name. */
#include <stdlib.h>

#include "tenora_backend.h"

static int64_t count(const DLTensor* t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= t->shape[d];
    return n;
}

/* Sound. */
static int32_t add(const tnr_call* call) {
    const float *a = call->in[0]->data, *b = call->in[1]->data;
    float* out = call->out[0]->data;
    for (int64_t i = 0; i < count(call->out[0]); i++) out[i] = a[i] + b[i];
    return TNR_OK;
}

/* One element too far. */
static int32_t mul(const tnr_call* call) {
    const float *a = call->in[0]->data, *b = call->in[1]->data;
    float* out = call->out[0]->data;
    for (int64_t i = 0; i <= count(call->out[0]); i++) out[i] = a[i] * b[i];
    return TNR_OK;
}

/* Leaves the last element. */
static int32_t sub(const tnr_call* call) {
    const float *a = call->in[0]->data, *b = call->in[1]->data;
    float* out = call->out[0]->data;
    for (int64_t i = 0; i + 1 < count(call->out[0]); i++) out[i] = a[i] - b[i];
    return TNR_OK;
}

/* Computes in its input. */
static int32_t neg(const tnr_call* call) {
    float *a = call->in[0]->data, *out = call->out[0]->data;
    for (int64_t i = 0; i < count(call->out[0]); i++) a[i] = -a[i];
    for (int64_t i = 0; i < count(call->out[0]); i++) out[i] = a[i];
    return TNR_OK;
}

/* Says that it writes outputs of any stride, and writes dense ones. */
static int32_t copy(const tnr_call* call) {
    const float* a = call->in[0]->data;
    float* out = call->out[0]->data;
    for (int64_t i = 0; i < count(call->out[0]); i++) out[i] = a[call->in[0]->ndim ? i : 0];
    return TNR_OK;
}

/* Writes before its workspace. */
static int32_t exp_(const tnr_call* call) {
    float *work = call->workspace, *out = call->out[0]->data;
    work[-1] = 0;
    for (int64_t i = 0; i < count(call->out[0]); i++) out[i] = 1;
    return TNR_OK;
}

static size_t sixteen(const tnr_call* call) {
    (void)call;
    return 16;
}

#define COMMON .struct_size = sizeof(tnr_kernel), .dtypes = TNR_MASK(TNR_F32)
static const tnr_kernel list[] = {
    {COMMON, .op = "add", .run = add, .flags = TNR_KERNEL_INPLACE},
    {COMMON, .op = "mul", .run = mul},
    {COMMON, .op = "sub", .run = sub},
    {COMMON, .op = "neg", .run = neg},
    {COMMON, .op = "copy", .run = copy, .flags = TNR_KERNEL_STRIDED_OUT},
    {COMMON, .op = "exp", .run = exp_, .workspace = sixteen},
};
static const tnr_kernel* const kernels[] = {&list[0], &list[1], &list[2], &list[3], &list[4], &list[5]};

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

TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host* host) {
    static const tnr_space cpu = {.struct_size = sizeof(tnr_space),
                                  .device_type = "cpu",
                                  .dlpack_type = 1,
                                  .host_accessible = 1,
                                  .host_order = 1,
                                  .device_count = one,
                                  .alloc = grab,
                                  .release = drop};
    static const tnr_space* const spaces[] = {&cpu};
    static tnr_backend table = {.struct_size = sizeof(tnr_backend),
                                .abi_version = TNR_ABI_VERSION,
                                .name = NAME,
                                .version = "1.0",
                                .spaces = spaces,
                                .n_spaces = 1,
                                .n_kernels = 6,
                                .kernels = kernels};
    table.opset_version = host->opset_version;
    return &table;
}
