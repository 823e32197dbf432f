// Backends that are shared libraries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenora/op.h"

namespace tenora::python {

struct NativeReport {
    std::string name, version, opset_version;
    int abi_version;
    std::vector<std::string> spaces, kernels;
    int id;
};

// `options`: what the library may ask for while it fills its table.
NativeReport load_native_backend(const std::string& path, const std::string& expected,
                                 const std::map<std::string, std::string>& options);
void set_backend_option(const std::string& backend, const std::string& option, const std::string& value);
void shutdown_native_backends();  // once, at exit
void set_host_info(const std::string& tenora_version, const std::string& opset_version);

}  // namespace tenora::python
