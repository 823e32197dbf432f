// Copies: within a device by the `copy` kernel of the backend
// that computes there, between devices by the space's bytes.
//   - Everything here is raw: no tape, no version bump.
//   - Between host and device the engine waits for the stream,
//     so that neither side's memory is reused too early.
//   - A copy kernel that declines negative strides is called slice by slice along such dimensions.
#include <cstring>

#include "internal.h"
#include "tenora/ring.h"
#include "tenora/stream.h"

namespace tenora {

namespace {

const Op& copy_op() { return op(need_core(core_ops().copy, "copy", "copy")); }

int negative_dim(const Tensor* t) {
    for (int i = 0; i < t->rank(); ++i)
        if (t->strides()[size_t(i)] < 0 && t->shape()[size_t(i)] > 1) return i;
    return -1;
}

void launch_copy(Tensor* dst, Tensor* src, BackendId id) {
    Operand in[] = {src};
    Tensor* out[] = {dst};
    try {
        launch({.op = copy_op(),
                .backend = id,
                .in = in,
                .attr = {},
                .out = out,
                .device = dst->device,
                .fresh = true});
    } catch (const Declined& d) {
        Error e(ErrorKind::NotSupported, "unsupported", "copy",
                text("[copy] not supported: got ", describe(src), " to ", describe(dst), " on backend ",
                     backend(id).name, ", where ", d.reason,
                     ", expected a copy kernel for every dtype and layout. Choose another backend."));
        e.backend = backend(id).name;
        e.dtype = text(src->dtype);
        throw e;
    }
}

void copy_slices(Tensor* dst, Tensor* src, int dim, BackendId id) {
    LocalView a, b;
    int64_t shape[kMaxRank], x[kMaxRank], y[kMaxRank];
    int n = 0;
    for (int i = 0; i < dst->rank(); ++i) {
        if (i == dim) continue;
        shape[n] = dst->shape()[size_t(i)];
        x[n] = dst->strides()[size_t(i)];
        y[n++] = src->strides()[size_t(i)];
    }
    size_t rank = size_t(n);
    for (int64_t k = 0; k < dst->shape()[size_t(dim)]; ++k) {
        a.reset(dst, {shape, rank}, {x, rank}, k * dst->strides()[size_t(dim)]);
        b.reset(src, {shape, rank}, {y, rank}, k * src->strides()[size_t(dim)]);
        copy_into(a.get(), b.get(), id);
    }
}

}  // namespace

void copy_into(Tensor* dst, Tensor* src, BackendId id) {
    if (!dst->numel) return;
    int dim = negative_dim(dst);
    if (dim < 0) dim = negative_dim(src);
    const KernelEntry* entry = kernel_entry(copy_op(), id);
    if (dim >= 0 && entry && !(entry->flags & TNR_KERNEL_NEGATIVE_STRIDES))
        return copy_slices(dst, src, dim, id);
    launch_copy(dst, src, id);
}

TensorRef dense_copy(Tensor* t, BackendId id) {
    TensorRef r = new_tensor(t->shape(), t->dtype, t->device);
    copy_into(r.get(), t, id);
    return r;
}

TensorRef contiguous(Tensor* t, const char* why) {
    if (t->contiguous) return TensorRef(t);
    BackendId id = current_backend(t->device.space);
    if (why) hidden_event(int(RingKind::Layout), nullptr, id, uint64_t(t->numel) * size_of(t->dtype), why);
    return dense_copy(t, id);
}

static TensorRef cast_with(Tensor* t, DType dtype, BackendId id) {
    TensorRef r = new_tensor(t->shape(), dtype, t->device);
    copy_into(r.get(), t, id);
    return r;
}

TensorRef cast(Tensor* t, DType dtype) {
    if (t->dtype == dtype) return TensorRef(t);
    BackendId id = current_backend(t->device.space);
    hidden_event(int(RingKind::Cast), nullptr, id, uint64_t(t->numel) * size_of(dtype),
                 "operand cast to the compute dtype");
    return cast_with(t, dtype, id);
}

void fill(Tensor* t, const Scalar& value) {
    if (!t->numel) return;
    BackendId id = current_backend(t->device.space);
    if (value.kind == Scalar::Kind::Complex) {
        LocalScalar number;
        number.reset(value, t->dtype == DType::C64 ? DType::C64 : DType::C128);
        TensorRef here = t->device.space == 0 ? nullptr : to_device(number.get(), t->device, false);
        LocalView v;
        int64_t zeros[kMaxRank] = {};
        v.reset(here ? here.get() : number.get(), t->shape(), {zeros, size_t(t->rank())});
        return copy_into(t, v.get(), id);
    }
    bool bits =
        !value.wide || is_integral(t->dtype);  // kernels that fill floats need not know of wide numbers
    Attr attr[] = {attr_scalar(bits ? value : Scalar::from_float(value.real()))};
    Tensor* out[] = {t};
    const Op& fill_op = op(need_core(core_ops().fill, "fill", "fill"));
    try {
        launch({.op = fill_op,
                .backend = id,
                .in = {},
                .attr = attr,
                .out = out,
                .device = t->device,
                .fresh = true});
    } catch (const Declined& d) {
        Error e(ErrorKind::NotSupported, "unsupported", "fill",
                text("[fill] not supported: got ", describe(t), " on backend ", backend(id).name, ", where ",
                     d.reason, ", expected a fill kernel for every dtype. Choose another backend."));
        e.backend = backend(id).name;
        throw e;
    }
}

namespace {

struct Transfer {
    void* dst;
    const void* src;
    size_t bytes;
    Device from, to;
    bool wait = true;  // for the copy to end; else the caller keeps both sides alive
};

void move_bytes(const Transfer& t) {
    if (!t.bytes) return;
    bool to_host = t.to.space == 0;
    Device device = to_host ? t.from : t.to;
    Space& s = space(device);
    uint64_t begin = ring_on() ? ring_now() : 0;
    if (t.from.space != 0 && !(t.from == device)) synchronize(t.from);
    if (!s.functions.copy_bytes) {
        if (!s.host_order()) synchronize(device);
        std::memcpy(t.dst, t.src, t.bytes);  // host accessible: checked when the space was added
        return;
    }
    Stream* stream = current_stream(device);
    char error[512];
    error[0] = 0;
    int kind = to_host ? 1 : t.from.space == 0 ? 0 : 2;
    int32_t status =
        s.functions.copy_bytes(s.functions.state, t.dst, t.to.index, t.src, t.from.index, t.bytes, kind,
                               stream ? stream->handle : nullptr, error, sizeof error);
    if (status != TNR_OK)
        fail(status == TNR_DEVICE_LOST ? ErrorKind::DeviceLost : ErrorKind::Runtime, "transfer", "to",
             text("transfer failed: got ", std::string_view(error), " for ", t.from, " to ", t.to,
                  ", expected a working copy. Check the device."));
    if (stream && t.wait) synchronize(stream);
    if (begin)
        ring_push({RingKind::Transfer, kNoOp, kNoBackend, false, 0, 0, t.bytes, begin, ring_now(),
                   kind == 0   ? "host to device"
                   : kind == 1 ? "device to host"
                               : "device to device"});
}

}  // namespace

// Other memory of the host may be written as soon as the caller returns, so only copies from pinned memory
// and those between devices of one type are left to their stream. A copy to the host is waited for in any
// case: its caller reads next.
TensorRef to_device(Tensor* t, Device device, bool non_blocking) {
    if (t->device == device) return dense_copy(t, current_backend(device.space));
    if (t->device.space != device.space && t->device.space != 0 && device.space != 0) {
        TensorRef host = to_device(t, Device{}, false);
        return to_device(host.get(), device, false);
    }
    TensorRef dense = contiguous(t, nullptr);
    TensorRef r = new_tensor(t->shape(), t->dtype, device);
    Stream* stream = current_stream(device);
    bool pinned = dense->storage && dense->storage->pinned_for == device.space && device.space != 0;
    bool later = non_blocking && stream && (device.space == t->device.space || pinned);
    move_bytes({r->dl.data, dense->dl.data, size_t(t->numel) * size_of(t->dtype), t->device, device, !later});
    if (later) {
        mark_use(dense->storage, stream);
        mark_use(r->storage, stream);
    }
    return r;
}

}  // namespace tenora
