// The table of the backend, and functions by which tests look inside.
//   - Kernels are registered as one function that queues them; which kernel it is travels in the call's
//     state.
//   - The option `without` takes ops and dtypes out of the table before it is handed over.
//   - A forked child has a device in the state of the moment; the lock is held across the fork.
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <sstream>

#include "simulator.h"
#include "space.h"

namespace tenora::sim {
namespace {

std::unique_ptr<Simulator> the_simulator;

constexpr const char* kDtypeNames[TNR_DTYPE_COUNT] = {
    "bool",  "uint8",   "uint16",   "uint32",  "uint64",  "int8",      "int16",     "int32",
    "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};

int32_t launch(const tnr_call* call) {
    try {
        return simulator().launch(*static_cast<const Kernel*>(call->state), *call);
    } catch (const std::exception& error) {
        return Message{call->error, call->error_size}.tell(TNR_ERROR, error.what());
    }
}

uint32_t offered = TNR_MASK_ALL;  // dtypes

// Takes out what `names` (separated by commas) lists.
void leave_out(Kernels& kernels, const std::string& names) {
    std::stringstream list(names);
    for (std::string name; std::getline(list, name, ',');) {
        for (int i = 0; i < TNR_DTYPE_COUNT; ++i)
            if (name == kDtypeNames[i]) offered &= ~(1u << i);
        std::erase_if(kernels, [&](const Kernel& kernel) { return name == kernel.op; });
    }
    for (Kernel& kernel : kernels) kernel.dtypes &= offered;
    std::erase_if(kernels, [](const Kernel& kernel) { return kernel.dtypes == 0; });
}

// Of the other operands: a kernel's mask is that of its first one.
int32_t supports(const tnr_call* call) {
    auto fine = [](const DLTensor* t) { return !t || offered >> index_of(t->dtype) & 1; };
    if (std::all_of(call->in, call->in + call->n_in, fine) &&
        std::all_of(call->out, call->out + call->n_out, fine))
        return 1;
    Message{call->error, call->error_size}.tell(0, "the option `without` takes a dtype away");
    return 0;
}

struct Table {
    explicit Table(const Options& options) {
        add_pointwise(kernels);
        add_copies(kernels);
        add_reductions(kernels);
        add_indexing(kernels);
        leave_out(kernels, options.without);
        for (Kernel& kernel : kernels) {
            tnr_kernel entry = {};
            entry.struct_size = sizeof(tnr_kernel);
            entry.flags = kernel.flags;
            entry.op = kernel.op;
            entry.run = launch;
            entry.dtypes = kernel.dtypes;
            entry.state = &kernel;
            if (offered != TNR_MASK_ALL) entry.supports = supports;
            entries.push_back(entry);
        }
        for (const tnr_kernel& entry : entries) pointers.push_back(&entry);
        backend.struct_size = sizeof(tnr_backend);
        backend.abi_version = TNR_ABI_VERSION;
        backend.name = "sim";
        backend.version = "0.1.0";
        backend.opset_version = "1.0";
        backend.spaces = spaces;
        backend.n_spaces = 1;
        backend.n_kernels = uint32_t(pointers.size());
        backend.kernels = pointers.data();
        backend.set_option = [](const char* option, const char* value, char* error, size_t size) {
            return simulator().set_option(option, value, {error, size});
        };
    }
    Kernels kernels;
    std::vector<tnr_kernel> entries;
    std::vector<const tnr_kernel*> pointers;
    tnr_space space = sim_space();
    const tnr_space* spaces[1] = {&space};
    tnr_backend backend = {};
};

Options options_of(const tnr_host* host) {
    Options options;
    std::string error;
    const bool told = host->struct_size >= offsetof(tnr_host, option) + sizeof host->option && host->option;
    for (const char* name :
         {"policy", "seed", "devices", "memory", "without", "fail_allocation", "fail_kernel", "lose_device"})
        if (const char* value = told ? host->option(name) : nullptr;
            value && !set(options, name, value, &error))
            host->log(2, "sim", error.c_str());
    return options;
}

int64_t tell(const std::vector<std::string>& lines, char* text, size_t size) {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    if (text && size) std::snprintf(text, size, "%s", all.c_str());
    return int64_t(lines.size());
}

}  // namespace

Simulator& simulator() { return *the_simulator; }

}  // namespace tenora::sim

extern "C" TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host* host) {
    using namespace tenora::sim;
    try {
        static const Table* const table = [&] {
            const Options options = options_of(host);
            the_simulator = std::make_unique<Simulator>(options);
            pthread_atfork([] { simulator().mutex.lock(); }, [] { simulator().mutex.unlock(); },
                           [] { simulator().mutex.unlock(); });
            return new Table(options);
        }();
        return &table->backend;
    } catch (...) {
        return nullptr;
    }
}

// For tests, once the backend is loaded. Texts are lines, cut off at `size`; returned is the number of
// lines.
extern "C" TNR_EXPORT int64_t tenora_sim_reports(char* text, size_t size) {
    return tenora::sim::tell(tenora::sim::simulator().reports(), text, size);
}
extern "C" TNR_EXPORT int64_t tenora_sim_history(char* text, size_t size) {
    return tenora::sim::tell(tenora::sim::simulator().history(), text, size);
}
extern "C" TNR_EXPORT int64_t tenora_sim_pending(void) { return tenora::sim::simulator().pending(); }
extern "C" TNR_EXPORT void tenora_sim_forget(void) { tenora::sim::simulator().forget(); }
// What lies behind a device address: for tests that play a kernel which writes where it must not.
extern "C" TNR_EXPORT void* tenora_sim_storage(const void* address) {
    return tenora::sim::simulator().storage(address);
}
