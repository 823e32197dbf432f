// What every binding file shares: Python.h, an owning reference, the border between C++ exceptions and Python
// errors.
//   - Inside the bindings a Python error travels as the C++ exception PythonError, which carries the fetched
//   exception, so
//     that it survives a change of thread.
//   - `guarded` stands at every entry from Python: nothing that is thrown leaves it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenora/error.h"
#include "tenora/tensor.h"

namespace tenora::python {

class PyRef {
  public:
    PyRef() = default;
    static PyRef steal(PyObject* p) {
        PyRef r;
        r.p_ = p;
        return r;
    }
    static PyRef borrow(PyObject* p) {
        Py_XINCREF(p);
        return steal(p);
    }
    PyRef(const PyRef& o) : p_(o.p_) { Py_XINCREF(p_); }
    PyRef(PyRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    PyRef& operator=(PyRef o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    ~PyRef() { Py_XDECREF(p_); }
    PyObject* get() const { return p_; }
    PyObject* release() { return std::exchange(p_, nullptr); }
    explicit operator bool() const { return p_ != nullptr; }

  private:
    PyObject* p_ = nullptr;
};

// ---- errors.cpp
// -------------------------------------------------------------------------------------------------- A Python
// exception on its way through C++. The exception object is kept alive and released with the GIL held.
class PythonError : public Error {
  public:
    PythonError();  // takes the exception that is set in this thread
    void restore() const;
    bool is_a(PyObject* type) const;  // needs the GIL, as the next
    std::string text() const;
    PyObject* exception() const;              // a new reference, with its traceback
    void tell_op(std::string_view op) const;  // to an exception of ours that is to name the op it came from

  private:
    std::shared_ptr<PyObject> type_, value_, traceback_;
};

[[noreturn]] void throw_python();  // the error that is set; SystemError when there is none
[[noreturn]] void raise(PyObject* type, std::string_view text);
[[noreturn]] void raise_kind(ErrorKind kind, const char* code, std::string_view op, std::string text);
inline PyObject* check(PyObject* p) {
    if (!p) throw_python();
    return p;
}
// Runs what may take the GIL back: Python code, or the taking itself. Where the interpreter is ending,
// CPython up to 3.13 ends a daemon thread there with pthread_exit, whose unwinding the noexcept frames above
// would turn into the end of the process; the thread sleeps instead, as it does from 3.14 on.
template <class Call>
decltype(auto) call_python(Call&& call) {
    try {
        return call();
    } catch (abi::__forced_unwind&) {
        for (;;) pause();
    }
}
inline PyRef own(PyObject* p) { return PyRef::steal(check(p)); }
inline void check_status(int status) {
    if (status < 0) throw_python();
}
// The engine is about to tell this exception in its own words: the next engine error of this thread whose
// text ends as it does names it as its cause.
void keep_cause(const PythonError& error);
void set_python_error(const std::exception& error) noexcept;  // C++ exception -> Python exception
void set_error_classes(PyObject* mapping);

template <class F>
PyObject* guarded(F&& f) noexcept {
    try {
        return f();
    } catch (const std::exception& error) {
        set_python_error(error);
        return nullptr;
    }
}

template <class F>
int guarded_int(F&& f) noexcept {
    try {
        return f();
    } catch (const std::exception& error) {
        set_python_error(error);
        return -1;
    }
}

// Gives an error that does not know its op the name of the one that was called.
template <class F>
auto named(std::string_view op, F&& f) {
    try {
        return f();
    } catch (PythonError& error) {
        error.tell_op(op);
        throw;
    } catch (Error& error) {
        if (error.op.empty() && error.kind != ErrorKind::Python) {
            error.op = op;
            if (!error.message.starts_with("[")) error.message = "[" + error.op + "] " + error.message;
        }
        throw;
    }
}

inline PyObject* new_none() { Py_RETURN_NONE; }
inline PyObject* new_bool(bool v) { return PyBool_FromLong(v); }
PyRef text(std::string_view v);          // str
std::string to_text(PyObject* unicode);  // UTF-8; throws when it is not a str
std::string type_name(
    PyObject* object);  // short name of its type; that of a stranger's Tensor with its module
std::string foreign_advice(PyObject* object);  // how a stranger's Tensor becomes one, with a space; or empty

// ---- gil.cpp
// ------------------------------------------------------------------------------------------------------
// Takes the GIL if this thread does not have it; keeps modes().holds_gil right.
class GilGuard {
  public:
    GilGuard();
    ~GilGuard();
    GilGuard(const GilGuard&) = delete;
    GilGuard& operator=(const GilGuard&) = delete;

  private:
    bool taken_;
    PyGILState_STATE state_{};
};

// Gives the GIL up for a native stretch that may wait.
class GilRelease {
  public:
    GilRelease();
    ~GilRelease();
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

  private:
    PyThreadState* state_;
};

void install_gil_hooks();
void drain_releases();  // wrappers released without the GIL; call with it
void queue_release(PyObject* object);

}  // namespace tenora::python
