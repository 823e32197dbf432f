// The table of the backend: instruction set, memory, kernels.
//
//   - The best instruction set the processor and the system offer is chosen once,
//     when the library is asked for its table. The option `isa` (baseline, avx2)
//     asks for less.
//   - Memory is aligned to 64 bytes. Tables and kernel entries
//     are written before the table is handed out, then read-only.
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels.h"

namespace tenora::cpu {

Tables tables;

namespace {

const char* chosen_set = "baseline";
char wanted_set[16] = "best";

bool at_most(const char* wanted, const char* set) { return std::strcmp(wanted, set) == 0; }

#define TENORA_FILL(set)           \
    set::fill_arithmetic(tables);  \
    set::fill_compare(tables);     \
    set::fill_integer(tables);     \
    set::fill_math(tables);        \
    set::fill_cast(tables);        \
    set::fill_reduce(tables);      \
    set::fill_gemm(tables);        \
    set::fill_fused(tables);       \
    set::fill_random(tables);      \
    set::fill_steps(tables);       \
    set::fill_convolution(tables); \
    set::fill_pooling(tables);     \
    set::fill_functions(tables);   \
    set::fill_distance(tables);    \
    chosen_set = #set;

void choose_instruction_set([[maybe_unused]] const char* wanted) {
    TENORA_FILL(baseline)
#if defined(TENORA_X86)
    if (at_most(wanted, "baseline") || !__builtin_cpu_supports("x86-64-v3")) return;
    TENORA_FILL(avx2)
    if (at_most(wanted, "avx2") || !__builtin_cpu_supports("x86-64-v4")) return;
    TENORA_FILL(avx512)
#endif
}
#undef TENORA_FILL

int32_t device_count(void*) { return 1; }

int32_t allocate(void*, int32_t, size_t bytes, void** out, char* error, size_t error_size) {
    const size_t rounded = (bytes + 63) & ~size_t{63};
    *out = rounded < bytes ? nullptr : std::aligned_alloc(64, rounded ? rounded : 64);
    if (*out) return TNR_OK;
    if (error && error_size) std::snprintf(error, error_size, "the system has no %zu bytes", bytes);
    return TNR_OUT_OF_MEMORY;
}

int32_t release(void*, int32_t, void* data, size_t) {
    std::free(data);
    return TNR_OK;
}

int32_t memory_info(void*, int32_t, size_t* free_bytes, size_t* total_bytes) {
    const long page = sysconf(_SC_PAGESIZE), total = sysconf(_SC_PHYS_PAGES),
               available = sysconf(_SC_AVPHYS_PAGES);
    if (page <= 0 || total <= 0 || available <= 0) return TNR_ERROR;
    *free_bytes = static_cast<size_t>(available) * static_cast<size_t>(page);
    *total_bytes = static_cast<size_t>(total) * static_cast<size_t>(page);
    return TNR_OK;
}

tnr_space host_space() {
    tnr_space space = {};
    space.struct_size = sizeof(tnr_space);
    space.device_type = "cpu";
    space.dlpack_type = 1;
    space.host_accessible = 1;
    space.host_order = 1;
    space.granule = 64;
    space.alignment = 64;
    space.device_count = device_count;
    space.alloc = allocate;
    space.release = release;
    space.memory_info = memory_info;
    return space;
}

// Kernels are chosen once; later only what is so already can be asked for.
int32_t set_option(const char* option, const char* value, char* error, size_t error_size) {
    const bool known = std::strcmp(option, "isa") == 0;
    if (known && (std::strcmp(value, chosen_set) == 0 || std::strcmp(value, wanted_set) == 0)) return TNR_OK;
    if (error && error_size)
        std::snprintf(error, error_size,
                      known ? "%s was chosen when the backend was loaded; set it before the first op"
                            : "no option of this name; %s is in use",
                      chosen_set);
    return TNR_BAD_VALUE;
}

// The host's word for an option; NULL from one that is older than options.
const char* option_of(const tnr_host* host, const char* name) {
    const bool covered = host && host->struct_size >= offsetof(tnr_host, option) + sizeof host->option;
    return covered && host->option ? host->option(name) : nullptr;
}

struct Table {
    tnr_space space = host_space();
    const tnr_space* spaces[1] = {&space};
    Kernels kernels;
    std::vector<const tnr_kernel*> pointers;
    tnr_backend backend = {};

    explicit Table(const char* isa) {
        choose_instruction_set(isa);
        add_pointwise(kernels);
        add_select(kernels);
        add_copies(kernels);
        add_reductions(kernels);
        add_scans(kernels);
        add_sorts(kernels);
        add_indexing(kernels);
        add_folds(kernels);
        add_random(kernels);
        add_matmul(kernels);
        add_fused(kernels);
        add_steps(kernels);
        add_losses(kernels);
        add_convolutions(kernels);
        add_pools(kernels);
        add_distances(kernels);
        add_standards(kernels);
        add_channels(kernels);
        add_special(kernels);
        for (const tnr_kernel& kernel : kernels) pointers.push_back(&kernel);
        backend.struct_size = sizeof(tnr_backend);
        backend.abi_version = TNR_ABI_VERSION;
        backend.name = "cpu_mkl";
        backend.version = "0.1.0";
        backend.opset_version = "1.0";
        backend.spaces = spaces;
        backend.n_spaces = 1;
        backend.n_kernels = static_cast<uint32_t>(pointers.size());
        backend.kernels = pointers.data();
        backend.set_option = set_option;
    }
};

}  // namespace

static const Table* new_table(const tnr_host* host) {
    if (const char* isa = option_of(host, "isa")) std::snprintf(wanted_set, sizeof wanted_set, "%s", isa);
    return new Table(wanted_set);
}

const char* instruction_set() { return chosen_set; }

void add_kernel(Kernels& kernels, const char* op, tnr_kernel_fn run, uint32_t dtypes, uint32_t flags,
                void* state) {
    tnr_kernel kernel = {};
    kernel.struct_size = sizeof(tnr_kernel);
    kernel.flags = flags;
    kernel.op = op;
    kernel.run = run;
    kernel.dtypes = dtypes;
    kernel.state = state;
    kernels.push_back(kernel);
}

}  // namespace tenora::cpu

extern "C" TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host* host) {
    // Immortal: kernels may be called while other static objects are being destroyed.
    try {
        static const tenora::cpu::Table* const table = tenora::cpu::new_table(host);
        if (host && host->log) {
            char line[64];
            std::snprintf(line, sizeof line, "instruction set %s", tenora::cpu::instruction_set());
            host->log(0, "cpu_mkl", line);
        }
        return &table->backend;
    } catch (...) {
        return nullptr;
    }
}
