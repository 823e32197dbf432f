// Pinned host memory: a tensor of the host whose memory a device's space gave, for copies that run by
// themselves.
//   - The storage remembers the space; views share it.
//   - The backend gets the memory back when no stream uses it any more. Keeping some of it for the next
//     request is the backend's own affair, which knows what pinning costs.
#include <algorithm>

#include "internal.h"
#include "tenora/dispatch.h"
#include "tenora/error.h"

namespace tenora {
namespace {

struct Pinned {
    const Space* space;
    void* data;
    size_t bytes;
};

void release_pinned(void* owner) {
    auto* p = static_cast<Pinned*>(owner);
    const tnr_space& f = p->space->functions;
    f.host_release(f.state, p->data, p->bytes);
    delete p;
}

}  // namespace

bool can_pin(Device device) { return space(device).functions.host_alloc != nullptr; }

TensorRef new_pinned(std::span<const int64_t> shape, DType dtype, Device device) {
    check_device(device);
    const Space& s = space(device);
    const tnr_space& f = s.functions;
    if (!f.host_alloc)
        fail(ErrorKind::NotSupported, "unsupported", "pin_memory",
             text("not supported: got device ", device, ", expected one whose backend has pinned memory. ",
                  "Leave pin_memory out."));
    // At least a byte: an address of its own, which the backend can take back.
    size_t bytes = std::max<size_t>(size_t(checked_numel(shape, "pin_memory")), 1);
    if (__builtin_mul_overflow(bytes, size_of(dtype), &bytes)) bytes = SIZE_MAX;
    int64_t strides[kMaxRank];
    dense_strides(shape, strides);
    char error[512] = "";
    void* data = nullptr;
    int32_t status = f.host_alloc(f.state, bytes, &data, error, sizeof error);
    check_status(status == TNR_OK && !data ? TNR_OUT_OF_MEMORY : status, device, "pin_memory",
                 "pinning of host memory", error);
    StorageRef storage = adopt(data, bytes, Device{}, false, new Pinned{&s, data, bytes}, release_pinned);
    storage->pinned_for = device.space;
    return new_window(storage.get(), shape, {strides, shape.size()}, 0, dtype, Device{});
}

}  // namespace tenora
