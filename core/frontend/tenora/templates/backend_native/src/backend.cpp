// The border to tenora: the table of kernels, and the memory that they compute in, which is the host's.
//   - No exception crosses it: a kernel that throws ends in a status.
//   - A device of your own has another `device_type`, says host_accessible = 0 and host_order = 0, and
//     fills in copies, streams and events; then a call must be copied if it runs after `launch` has returned.
#include <cstdlib>
#include <exception>
#include <new>

#include "kernels/kernels.h"

namespace newbackend {
namespace {

int32_t launch(const tnr_call* call) {
    try {
        return static_cast<const Kernel*>(call->state)->run(call);
    } catch (const std::bad_alloc&) {
        return refuse(call, TNR_OUT_OF_MEMORY, "%s", "no memory for the kernel's own use");
    } catch (const std::exception& error) {
        return refuse(call, TNR_ERROR, "%s", error.what());
    }
}

constexpr size_t kAlign = 64;

int32_t allocate(void*, int32_t, size_t bytes, void** out, char*, size_t) {
    *out = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
    return *out ? TNR_OK : TNR_OUT_OF_MEMORY;
}

int32_t release(void*, int32_t, void* data, size_t) {
    std::free(data);
    return TNR_OK;
}

tnr_space host_space() {
    tnr_space space = {};
    space.struct_size = sizeof(tnr_space);
    space.device_type = "cpu";
    space.dlpack_type = 1;
    space.host_accessible = 1;
    space.host_order = 1;
    space.device_count = [](void*) -> int32_t { return 1; };
    space.alloc = allocate;
    space.release = release;
    return space;
}

struct Table {
    Table() {
        add_pointwise(kernels);
        add_copies(kernels);
        add_reductions(kernels);
        add_indexing(kernels);
        for (Kernel& kernel : kernels) {
            tnr_kernel entry = {};
            entry.struct_size = sizeof(tnr_kernel);
            entry.op = kernel.op;
            entry.run = launch;
            entry.flags = kernel.flags;
            entry.dtypes = kernel.dtypes;
            entry.state = &kernel;
            entries.push_back(entry);
        }
        for (const tnr_kernel& entry : entries) pointers.push_back(&entry);
        backend.struct_size = sizeof(tnr_backend);
        backend.abi_version = TNR_ABI_VERSION;
        backend.name = "newbackend";
        backend.version = "0.1.0";
        backend.opset_version = "1.0";
        backend.spaces = spaces;
        backend.n_spaces = 1;
        backend.kernels = pointers.data();
        backend.n_kernels = uint32_t(pointers.size());
    }
    Kernels kernels;
    std::vector<tnr_kernel> entries;
    std::vector<const tnr_kernel*> pointers;
    tnr_space space = host_space();
    const tnr_space* spaces[1] = {&space};
    tnr_backend backend = {};
};

}  // namespace
}  // namespace newbackend

extern "C" TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host*) {
    try {
        static const newbackend::Table* const table = new newbackend::Table();
        return &table->backend;
    } catch (...) {
        return nullptr;
    }
}
