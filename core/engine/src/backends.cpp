// Backends, their kernels, and which one computes now.
//   - The table op x backend is filled under `registry_mutex` and read without a lock; entries are immortal.
//   - A registration that cannot work is refused here, with backend, op and argument named.
#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>

#include "guard.h"
#include "internal.h"
#include "tenora/hooks.h"

namespace tenora {

constinit thread_local Modes modes_storage;
std::atomic<BackendId> default_backends[kMaxSpaces] = {
    kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend,
    kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend, kNoBackend};
static_assert(kMaxSpaces == 16);

StatusMeaning meaning_of(int32_t status) {
    switch (status) {
        case TNR_OUT_OF_MEMORY:
            return {ErrorKind::OutOfMemory, "memory"};
        case TNR_NOT_SUPPORTED:
            return {ErrorKind::NotSupported, "unsupported"};
        case TNR_BAD_VALUE:
            return {ErrorKind::Value, "value"};
        case TNR_INDEX_ERROR:
            return {ErrorKind::Index, "index"};
        case TNR_DEVICE_LOST:
            return {ErrorKind::DeviceLost, "device_lost"};
        case TNR_PYTHON_ERROR:
            return {ErrorKind::Python, "python"};
        case TNR_ZERO_DIVISION:  // PyTorch: RuntimeError "ZeroDivisionError"
            return {ErrorKind::Runtime, "value"};
        default:
            return {ErrorKind::Runtime, "kernel"};
    }
}

namespace {

Backend backends[kMaxBackends];
std::atomic<int> count_backends{0};

[[noreturn]] void refuse_kernel(BackendId id, std::string_view op, std::string message) {
    Error e(ErrorKind::Value, "registration", std::string(op),
            text("[", op, "] backend ", backends[id].name, ": ", message));
    e.backend = backends[id].name;
    throw e;
}

constexpr uint32_t kKnownFlags = TNR_KERNEL_STRIDED | TNR_KERNEL_NEGATIVE_STRIDES | TNR_KERNEL_STRIDED_OUT |
                                 TNR_KERNEL_BROADCAST | TNR_KERNEL_ACCUMULATE | TNR_KERNEL_INPLACE |
                                 TNR_KERNEL_BLOCKS;

constexpr const char* kNoKernels =
    "wrong op: got a kernel for a view or function op, expected an op that computes. Leave it to tenora.";

void check_entry(BackendId id, std::string_view name, const KernelEntry& entry) {
    if (!entry.run)
        refuse_kernel(id, name, "wrong argument `run`: got NULL, expected a function. Pass the kernel.");
    if (!entry.dtypes || entry.dtypes & ~TNR_MASK_ALL)
        refuse_kernel(id, name,
                      text("wrong argument `dtypes`: got ", entry.dtypes, ", expected a non-empty mask of ",
                           int(TNR_DTYPE_COUNT), " bits. Use TNR_MASK(...)."));
    if (entry.flags & ~kKnownFlags)
        refuse_kernel(id, name,
                      text("wrong argument `flags`: got ", entry.flags, ", expected TNR_KERNEL_* bits only. ",
                           "Remove the unknown bits or update tenora."));
}

void check_op(BackendId id, Op& op) {
    const OpSpec& s = op.spec;
    if (s.implementation == Implementation::View ||
        (s.implementation == Implementation::Function && !op.has_rules))
        refuse_kernel(id, s.name, kNoKernels);
    if (op.kernel_op != op.id)
        refuse_kernel(id, s.name,
                      text("wrong op: got a kernel for '", s.name, "', expected one for '", s.kernel,
                           "', which serves it. Register that one."));
    if (!op.has_rules && s.n_out != 0 && s.implementation != Implementation::Structural &&
        s.implementation != Implementation::Composite)
        refuse_kernel(id, s.name, "op has no shape rule. Give its record rules first.");
}

int guards[kMaxBackends];  // how many are on; under registry_mutex

// What the table holds for a kernel; under registry_mutex.
void put_kernel(Op& op, BackendId id, const KernelEntry* entry) {
    op.kernels[id].store(guards[id] ? guarded_entry(op, id, entry) : entry, std::memory_order_release);
}

// The guard finds a device's space by its DLPack type.
void check_guardable(BackendId id) {
    for (uint8_t a : backends[id].spaces)
        for (uint8_t b : backends[id].spaces)
            if (a < b && space(a).functions.dlpack_type == space(b).functions.dlpack_type)
                fail(ErrorKind::Value, "backend", "guard",
                     text("backend cannot be guarded: got ", backends[id].name, ", whose devices ",
                          space(a).name, " and ", space(b).name,
                          " have one DLPack type, expected different ones. Judge it on one of them."));
}

// Kernels whose op is only announced wait here until it is registered; under registry_mutex.
struct WaitingKernel {
    BackendId backend;
    std::string op;
    const KernelEntry* entry;
};
std::vector<WaitingKernel> waiting;

void check_announced(BackendId id, std::string_view name) {
    std::optional<bool> takes_kernels = announced_op(name);
    if (!takes_kernels) {
        auto close = nearest(name, op_names());
        refuse_kernel(id, name,
                      text("unknown op: got '", name, "', expected an op of tenora or of a loaded plugin. ",
                           close.empty() ? std::string("See `tenora ops`.") : text("Nearest: ", close, ".")));
    }
    if (!*takes_kernels) refuse_kernel(id, name, kNoKernels);
}

bool is_waiting(BackendId id, std::string_view name) {
    return std::any_of(waiting.begin(), waiting.end(),
                       [&](const WaitingKernel& w) { return w.backend == id && w.op == name; });
}

}  // namespace

bool Backend::serves(uint8_t space_id) const {
    return std::find(spaces.begin(), spaces.end(), space_id) != spaces.end();
}

Backend& add_backend(std::string_view name, std::string_view version, std::span<const uint8_t> spaces) {
    std::lock_guard lock(registry_mutex);
    int id = count_backends.load(std::memory_order_relaxed);
    if (name.empty() || find_backend(name) >= 0)
        fail(ErrorKind::Value, "registration", "",
             text("backend name is not free: got '", name,
                  "', expected a new name. Unload or rename one of the two."));
    if (id >= kMaxBackends)
        fail(ErrorKind::Runtime, "registration", "",
             text("too many backends: got ", id + 1, ", expected at most ", kMaxBackends, ". Load fewer."));
    Backend& b = backends[id];
    b.id = BackendId(id);
    b.name = name;
    b.version = version;
    b.spaces.assign(spaces.begin(), spaces.end());
    for (uint8_t s : spaces) b.host_order = b.host_order && space(s).host_order();
    count_backends.store(id + 1, std::memory_order_release);
    return b;
}

Backend& backend(BackendId id) { return backends[id]; }
int backend_count() { return count_backends.load(std::memory_order_acquire); }

int find_backend(std::string_view name) {
    for (int i = 0, n = backend_count(); i < n; ++i)
        if (backends[i].name == name) return i;
    return -1;
}

std::vector<std::string> backend_names() {
    std::vector<std::string> names;
    for (int i = 0, n = backend_count(); i < n; ++i) names.push_back(backends[i].name);
    return names;
}

void attach_waiting_kernels(Op& op) {
    std::erase_if(waiting, [&op](const WaitingKernel& w) {
        if (w.op != op.spec.name) return false;
        put_kernel(op, w.backend, w.entry);
        return true;
    });
}

std::vector<std::string> kernel_names(BackendId id) {
    std::vector<std::string> names;
    for (int i = 0, n = op_count(); i < n; ++i)
        if (op(OpId(i)).kernels[id].load(std::memory_order_acquire)) names.push_back(op(OpId(i)).spec.name);
    std::lock_guard lock(registry_mutex);
    for (const WaitingKernel& w : waiting)
        if (w.backend == id) names.push_back(w.op);
    return names;
}

void register_kernel(BackendId id, std::string_view name, const KernelEntry& entry) {
    if (!find_op(name)) check_announced(id, name);
    check_entry(id, name, entry);
    std::lock_guard lock(registry_mutex);
    Op* op = find_op(name);
    if (op) check_op(id, *op);
    if (op ? op->kernels[id].load(std::memory_order_relaxed) != nullptr : is_waiting(id, name))
        refuse_kernel(id, name,
                      "kernel exists already: got a second one, expected one per op. Remove one of them.");
    auto* kept = new KernelEntry(entry);
    if (op)
        put_kernel(*op, id, kept);
    else
        waiting.push_back({id, std::string(name), kept});
    if (entry.python) backends[id].python.store(true, std::memory_order_relaxed);
}

void guard_backend(BackendId id, bool on) {
    std::lock_guard lock(registry_mutex);
    if (on) check_guardable(id);
    if (!on && !guards[id])
        fail(ErrorKind::Value, "backend", "guard",
             text("guard is not on: got ", backends[id].name,
                  ", expected a backend that is guarded. End each guard once."));
    guards[id] += on ? 1 : -1;
    for (int i = 0, n = op_count(); i < n; ++i) {
        Op& each = op(OpId(i));
        if (const KernelEntry* entry = plain_entry(each.kernels[id].load(std::memory_order_relaxed)))
            put_kernel(each, id, entry);
    }
}

void set_default_backend(uint8_t space_id, BackendId id) {
    if (id != kNoBackend && !backends[id].serves(space_id))
        fail(ErrorKind::Value, "backend", "",
             text("backend does not serve the device: got ", backends[id].name, " for ", space(space_id).name,
                  ", expected a backend that declares it. See `tenora doctor`."));
    default_backends[space_id].store(id, std::memory_order_release);
}

BackendId choose_backend(uint8_t space_id) {
    if (!hooks().choose_backend)
        fail(ErrorKind::NotSupported, "backend", "",
             text("no backend for ", space(space_id).name, ": got none, expected one to be chosen. ",
                  "Call tenora.set_default_backend(...)."));
    BackendId id = hooks().choose_backend(space_id);
    if (id == kNoBackend || id >= backend_count())
        fail(ErrorKind::NotSupported, "backend", "",
             text("no backend for ", space(space_id).name,
                  ": got none, expected an installed one. See `tenora doctor`."));
    BackendId none = kNoBackend;
    default_backends[space_id].compare_exchange_strong(none, id);
    return id;
}

}  // namespace tenora
