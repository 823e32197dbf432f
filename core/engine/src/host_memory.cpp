// Raw host memory.
//   - From 2 MiB up: anonymous mappings aligned to 2 MiB with advice
//     for huge pages, so that a first touch costs few faults.
//   - A request above 256 MiB that the machine cannot back
//     (available memory plus free swap, or the limit of the
//     control group) is refused here: overcommit would grant it
//     and the process would be killed when the pages are touched.
#include "host_memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace tenora {
namespace {

constexpr size_t kAskFirst = size_t{256} << 20;

// Bytes that /proc/meminfo calls available, with free swap; SIZE_MAX when unknown.
size_t available_bytes() {
    std::FILE* file = std::fopen("/proc/meminfo", "re");
    if (!file) return SIZE_MAX;
    char line[128];
    size_t total = 0;
    bool found = false;
    while (std::fgets(line, sizeof line, file)) {
        size_t kib = 0;
        if (std::sscanf(line, "MemAvailable: %zu", &kib) == 1) {
            total += kib << 10;
            found = true;
        } else if (std::sscanf(line, "SwapFree: %zu", &kib) == 1) {
            total += kib << 10;
        }
    }
    std::fclose(file);
    return found ? total : SIZE_MAX;
}

size_t group_limit() {
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::FILE* file = std::fopen(path, "re");
        if (!file) continue;
        size_t limit = 0;
        bool found = std::fscanf(file, "%zu", &limit) == 1;
        std::fclose(file);
        if (found) return limit;
    }
    return SIZE_MAX;
}

bool can_back(size_t bytes) {
    return bytes < kAskFirst || (bytes <= available_bytes() && bytes <= group_limit());
}

int32_t host_count(void*) { return 1; }

int32_t host_alloc(void*, int32_t, size_t bytes, void** out, char* error, size_t error_size) {
    if (bytes >= kHugePage) {
        *out =
            bytes > size_t{PTRDIFF_MAX} - 2 * kHugePage || !can_back(bytes) ? nullptr : host_map(bytes, true);
    } else if (posix_memalign(out, 64, bytes ? bytes : 64) != 0) {
        *out = nullptr;
    }
    if (*out) return TNR_OK;
    std::snprintf(error, error_size, "the operating system has no %zu bytes to give", bytes);
    return TNR_OUT_OF_MEMORY;
}

int32_t host_release(void*, int32_t, void* data, size_t bytes) {
    if (bytes >= kHugePage) {
        host_unmap(data, bytes);
    } else {
        std::free(data);
    }
    return TNR_OK;
}

int32_t host_info(void*, int32_t, size_t* free_bytes, size_t* total_bytes) {
    *free_bytes = available_bytes();
    *total_bytes = group_limit();
    return *free_bytes == SIZE_MAX ? TNR_NOT_SUPPORTED : TNR_OK;
}

int32_t host_copy(void*, void* dst, int32_t, const void* src, int32_t, size_t bytes, int32_t, void*, char*,
                  size_t) {
    if (bytes) std::memcpy(dst, src, bytes);
    return TNR_OK;
}

size_t round_to_huge(size_t bytes) { return (bytes + kHugePage - 1) & ~(kHugePage - 1); }

}  // namespace

void* host_map(size_t bytes, bool huge_advice) {
    size_t wanted = round_to_huge(bytes), reserved = wanted + kHugePage;
    void* raw = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    uintptr_t begin = reinterpret_cast<uintptr_t>(raw),
              aligned = (begin + kHugePage - 1) & ~uintptr_t{kHugePage - 1};
    if (aligned > begin) munmap(raw, aligned - begin);
    size_t tail = begin + reserved - (aligned + wanted);
    if (tail) munmap(reinterpret_cast<void*>(aligned + wanted), tail);
    void* data = reinterpret_cast<void*>(aligned);
#ifdef MADV_HUGEPAGE
    if (huge_advice)
        madvise(data, wanted, MADV_HUGEPAGE);  // only advice: a kernel without huge pages may decline
#endif
    return data;
}

void host_unmap(void* data, size_t bytes) { munmap(data, round_to_huge(bytes)); }

const tnr_space& host_functions() {
    static const tnr_space functions = [] {
        tnr_space s{};
        s.struct_size = sizeof s;
        s.device_type = "cpu";
        s.dlpack_type = 1;
        s.host_accessible = s.host_order = 1;
        s.granule = s.alignment = 64;
        s.device_count = host_count;
        s.alloc = host_alloc;
        s.release = host_release;
        s.memory_info = host_info;
        s.copy_bytes = host_copy;
        return s;
    }();
    return functions;
}

}  // namespace tenora
