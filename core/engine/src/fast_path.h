// What the ways past rules and plans share: which kernels may run at once, and running one.
#pragma once

#include "internal.h"
#include "tenora/ring.h"
#include "tenora/stream.h"

namespace tenora {

inline constexpr int64_t kFastBytes = int64_t(1) << 22;  // beyond, the GIL may have to go: slow path

inline void pass_stream(tnr_call& call, std::span<const Operand> in, Tensor* out) {
    Stream* stream = current_stream(out->device);
    if (!stream) return;
    call.stream = stream->handle;
    for (const Operand& o : in)
        if (o.tensor) mark_use(o.tensor->storage, stream);
    mark_use(out->storage, stream);
}

// The kernel, if nothing about it needs the slow path.
inline const KernelEntry* fast_entry(const Op& op, BackendId id, DType dtype) {
    const KernelEntry* entry = kernel_entry(op, id);
    if (!entry || !(entry->dtypes >> int(dtype) & 1) || entry->supports || entry->workspace ||
        (entry->flags & TNR_KERNEL_BLOCKS) || ring_on() || any_device_lost.load(std::memory_order_relaxed))
        return nullptr;
    return entry;
}

// Runs the kernel. What the slow path knows how to deal with is returned; other failures are thrown.
[[gnu::always_inline]] inline int32_t run_fast(const KernelEntry* entry, tnr_call& call,
                                               std::span<const Operand> in, std::span<const Attr> attr,
                                               const DLTensor** descriptors, Tensor* result, const Op& op,
                                               bool accumulate = false) {
    const DLTensor* result_descriptor = &result->dl;
    char error[256];
    error[0] = 0;
    call.struct_size = sizeof(tnr_call);
    call.n_in = uint16_t(in.size());
    call.n_out = 1;
    call.n_attr = uint16_t(attr.size());
    call.accumulate = accumulate;
    call.reserved = 0;
    call.state = entry->state;
    call.in = descriptors;
    call.out = &result_descriptor;
    call.attr = attr.data();
    call.stream = call.workspace = nullptr;
    call.workspace_size = 0;
    call.error = error;
    call.error_size = sizeof error;
    if (result->device.space != 0) [[unlikely]]
        pass_stream(call, in, result);
    int32_t status = entry->run(&call);
    if (status != TNR_OK && status != TNR_NOT_SUPPORTED && status != TNR_OUT_OF_MEMORY)
        check_status(op, current_backend(result->device.space), result->device, status, error);
    return status;
}

}  // namespace tenora
