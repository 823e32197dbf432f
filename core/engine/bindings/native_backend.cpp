// Backends that are shared libraries: dlopen, checks of both sides, registration.
//   - Everything is checked before anything is registered: versions both ways, names, sizes, ops, kernels.
//   - Structs are read only as far as their struct_size reaches; what is missing counts as zero.
//   - Libraries stay loaded: their kernels are in the table for ever.

#include "native_backend.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>

#include "python_common.h"
#include "tenora/space.h"

namespace tenora::python {

namespace {

struct HostInfo {
    std::string tenora_version = "0.0.0", opset_version = "1.0";
} host_info;

struct Loaded {
    std::string name;
    const tnr_backend* table;
};
std::vector<Loaded>& loaded() {
    static auto* list = new std::vector<Loaded>();
    return *list;
}

void log_line(int32_t level, const char* backend, const char* message) {
    static const char* names[] = {"debug", "info", "warning"};
    if (!Py_IsInitialized()) return;
    GilGuard gil;
    PyRef logging = PyRef::steal(PyImport_ImportModule("logging"));
    PyRef logger = logging
                       ? PyRef::steal(PyObject_CallMethod(logging.get(), "getLogger", "s", "tenora.backends"))
                       : PyRef();
    const char* name = names[level < 0 || level > 2 ? 1 : level];
    PyRef done = logger ? PyRef::steal(PyObject_CallMethod(logger.get(), name, "sss", "%s: %s",
                                                           backend ? backend : "?", message ? message : ""))
                        : PyRef();
    if (!done) PyErr_Clear();
}

// Options of the backend that is being loaded. Guarded by the GIL.
std::map<std::string, std::string>& load_options() {
    static auto* options = new std::map<std::string, std::string>();
    return *options;
}

const tnr_host* host() {
    static tnr_host h{};
    h.struct_size = sizeof h;
    h.abi_version = TNR_ABI_VERSION;
    h.abi_version_min = TNR_ABI_VERSION_MIN;
    h.tenora_version = host_info.tenora_version.c_str();
    h.opset_version = host_info.opset_version.c_str();
    h.log = log_line;
    h.option = [](const char* name) -> const char* {
        auto found = load_options().find(name ? name : "");
        return found == load_options().end() ? nullptr : found->second.c_str();
    };
    return &h;
}

constexpr uint32_t kKnownFlags = TNR_KERNEL_STRIDED | TNR_KERNEL_NEGATIVE_STRIDES | TNR_KERNEL_STRIDED_OUT |
                                 TNR_KERNEL_BROADCAST | TNR_KERNEL_ACCUMULATE | TNR_KERNEL_INPLACE |
                                 TNR_KERNEL_BLOCKS;

struct Checker {
    std::string path;
    std::string name;  // of the backend, once known
    [[noreturn]] void wrong(const std::string& what, const char* code = "backend") const {
        std::string who = name.empty() ? std::string() : std::string("backend '").append(name).append("': ");
        raise_kind(ErrorKind::Runtime, code, "load_native_backend", who + what + " Library: " + path + ".");
    }

    const tnr_backend* open() const {
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char* why = dlerror();
            wrong(std::string("cannot be loaded: got '") + (why ? why : "unknown") + "'.");
        }
        auto init = reinterpret_cast<tenora_backend_init_fn>(dlsym(library, "tenora_backend_init"));
        if (!init) wrong("is no tenora backend: it exports no function tenora_backend_init.");
        const tnr_backend* table = init(host());
        if (!table)
            wrong("declined to load: tenora_backend_init returned NULL for ABI " +
                  std::to_string(TNR_ABI_VERSION) + ".");
        return table;
    }

    // struct_size and abi_version can be read whatever the version.
    tnr_backend copy(const tnr_backend* table) const {
        if (table->abi_version < TNR_ABI_VERSION_MIN || table->abi_version > TNR_ABI_VERSION) {
            wrong("C ABI versions do not fit: the backend was compiled with " +
                      std::to_string(table->abi_version) + ", this tenora loads " +
                      std::to_string(TNR_ABI_VERSION_MIN) + " to " + std::to_string(TNR_ABI_VERSION) + ".",
                  "incompatible");
        }
        if (table->struct_size < offsetof(tnr_backend, set_option))
            wrong("the table is too short: got struct_size " + std::to_string(table->struct_size) + ".");
        tnr_backend out{};
        std::memcpy(&out, table, std::min<size_t>(table->struct_size, sizeof out));
        if (!out.name || !*out.name || !out.version || !out.opset_version)
            wrong("the table lacks `name`, `version` or `opset_version`.");
        if (out.n_spaces == 0 || !out.spaces || out.n_spaces > kMaxSpaces)
            wrong("`spaces` is empty or too long: got n_spaces " + std::to_string(out.n_spaces) + ".");
        if (out.n_kernels && !out.kernels)
            wrong("`kernels` is NULL: got n_kernels " + std::to_string(out.n_kernels) + ".");
        return out;
    }

    void versions(const tnr_backend& t, const std::string& expected) const {
        if (!expected.empty() && expected != t.name)
            wrong("the library calls itself '" + std::string(t.name) + "', expected '" + expected +
                  "' as in the manifest.");
        std::string mine = host_info.opset_version.substr(0, host_info.opset_version.find('.'));
        std::string theirs = std::string(t.opset_version).substr(0, std::string(t.opset_version).find('.'));
        if (mine != theirs) {
            wrong(std::string("op-set versions do not fit: the backend was written for ") + t.opset_version +
                      ", this tenora has " + host_info.opset_version + ".",
                  "incompatible");
        }
    }

    tnr_space space_copy(const tnr_space* s) const {
        if (!s || s->struct_size < offsetof(tnr_space, memory_info))
            wrong("a memory space is too short: got struct_size " + std::to_string(s ? s->struct_size : 0) +
                  ".");
        tnr_space out{};
        std::memcpy(&out, s, std::min<size_t>(s->struct_size, sizeof out));
        if (!out.device_type || !*out.device_type) wrong("a memory space has no `device_type`.");
        return out;
    }

    KernelEntry kernel(const tnr_kernel* k, std::string* op_name) const {
        if (!k || k->struct_size < offsetof(tnr_kernel, state))
            wrong("a kernel entry is too short: got struct_size " + std::to_string(k ? k->struct_size : 0) +
                  ".");
        tnr_kernel full{};
        std::memcpy(&full, k, std::min<size_t>(k->struct_size, sizeof full));
        if (!full.op) wrong("a kernel entry has no `op`.");
        *op_name = full.op;
        if (!full.run) wrong("the kernel '" + *op_name + "' has no function: `run` is NULL.");
        if (!find_op(full.op) && !announced_op(full.op)) {
            std::vector<std::string> names = op_names(), close = nearest(full.op, names);
            wrong("there is a kernel for an unknown op: got '" + *op_name + "'." +
                  (close.empty() ? "" : " Did you mean '" + close[0] + "'?"));
        }
        if (full.dtypes == 0 || (full.dtypes & ~TNR_MASK_ALL))
            wrong("the kernel '" + *op_name + "' has a bad mask `dtypes`: got " +
                  std::to_string(full.dtypes) + ".");
        if (full.flags & ~kKnownFlags)
            wrong("the kernel '" + *op_name + "' has unknown bits in `flags`: got " +
                  std::to_string(full.flags) + ".");
        KernelEntry entry;
        entry.run = full.run;
        entry.state = full.state;
        entry.flags = full.flags;
        entry.dtypes = full.dtypes;
        entry.supports = full.supports;
        entry.workspace = full.workspace;
        return entry;
    }
};

}  // namespace

void set_host_info(const std::string& tenora_version, const std::string& opset_version) {
    host_info = {tenora_version, opset_version};
}

NativeReport load_native_backend(const std::string& path, const std::string& expected,
                                 const std::map<std::string, std::string>& options) {
    Checker checker{path, {}};
    load_options() = options;
    tnr_backend table = checker.copy(checker.open());
    load_options().clear();
    checker.name = table.name;
    checker.versions(table, expected);
    if (find_backend(table.name) >= 0)
        checker.wrong("a backend of the name '" + std::string(table.name) + "' is already registered.");
    std::vector<tnr_space> spaces;
    for (uint32_t i = 0; i < table.n_spaces; ++i) spaces.push_back(checker.space_copy(table.spaces[i]));
    std::vector<std::pair<std::string, KernelEntry>> kernels;
    for (uint32_t i = 0; i < table.n_kernels; ++i) {
        std::string name;
        KernelEntry entry = checker.kernel(table.kernels[i], &name);
        for (auto& [known, unused] : kernels) {
            if (known == name) checker.wrong("there are two kernels for one op: got '" + name + "'.");
        }
        kernels.emplace_back(std::move(name), entry);
    }
    NativeReport report{table.name, table.version, table.opset_version, int(table.abi_version), {}, {}, 0};
    std::vector<uint8_t> space_ids;
    for (const tnr_space& s : spaces) {
        space_ids.push_back(add_space(s, table.name).id);
        report.spaces.emplace_back(s.device_type);
    }
    report.id = add_backend(table.name, table.version, space_ids).id;
    for (auto& [name, entry] : kernels) {
        register_kernel(BackendId(report.id), name, entry);
        report.kernels.push_back(name);
    }
    auto* kept = new tnr_backend(table);
    loaded().push_back({table.name, kept});
    return report;
}

void set_backend_option(const std::string& backend, const std::string& option, const std::string& value) {
    for (const Loaded& l : loaded()) {
        if (l.name != backend) continue;
        if (!l.table->set_option)
            raise_kind(ErrorKind::Value, "option", "set_backend_option",
                       "backend '" + backend + "' has no options.");
        char error[512] = "";
        int32_t status = l.table->set_option(option.c_str(), value.c_str(), error, sizeof error);
        if (status != TNR_OK) {
            raise_kind(ErrorKind::Value, "option", "set_backend_option",
                       "backend '" + backend + "' refuses " + option + "=" + value + ": " + error);
        }
        return;
    }
    raise_kind(ErrorKind::Value, "backend", "set_backend_option",
               "no native backend of this name is loaded: got '" + backend + "'.");
}

void shutdown_native_backends() {
    shutdown_spaces();
    for (const Loaded& l : loaded()) {
        if (l.table->shutdown) l.table->shutdown();
    }
    loaded().clear();
}

}  // namespace tenora::python
