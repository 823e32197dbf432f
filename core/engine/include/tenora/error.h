// The engine's one exception type. Bindings turn it into the
// Python class that `kind` names, with the fields attached.
#pragma once

#include <exception>
#include <string>

namespace tenora {

enum class ErrorKind : unsigned char {
    Runtime,
    Type,
    Value,
    Index,
    NotImplemented,
    OutOfMemory,
    NotSupported,
    DeviceLost,
    HiddenCopy,
    Python  // a Python exception is already set (raised by a hook, a Function, a Python kernel)
};

class Error : public std::exception {
  public:
    Error(ErrorKind kind, std::string code, std::string op, std::string message)
        : kind(kind), code(std::move(code)), op(std::move(op)), message(std::move(message)) {}
    const char* what() const noexcept override { return message.c_str(); }

    ErrorKind kind;
    std::string
        code;        // machine-readable: "shape", "dtype", "device", "version", "unsupported", "memory", ...
    std::string op;  // user's op name or ""
    std::string backend;  // or ""
    std::string dtype;    // or ""
    std::string message;  // `[op] what is wrong: got ..., expected .... What to do.`
};

// `[op] message`, so that every call site reads the same. op may be empty.
[[noreturn]] void fail(ErrorKind kind, const char* code, std::string_view op, std::string message);

}  // namespace tenora
