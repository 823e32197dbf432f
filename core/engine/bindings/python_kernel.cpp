// The trampoline between the dispatcher and a kernel written in Python.
//   - The kernel gets ndarrays over the operands' memory: inputs read-only, outputs writable, attributes by
//   keyword.
//   - Making an ndarray costs more than a small kernel, so each kernel keeps the arrays of its last call:
//   when shape, strides
//     and dtype agree and nobody else holds the array, only its data pointer is set anew.
//   - The memory is the kernel's for the time of the call. An array that is still held afterwards is an error
//   of the kernel.
//   - A Python exception travels on as PythonError, with a note that names op and backend; the engine's C++
//   frames let it through. IndexError and ZeroDivisionError are findings about the data: they become
//   statuses, as those of native kernels.

#include "python_kernel.h"

#include "numpy_api.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "arguments.h"
#include "construct.h"
#include "plain_types.h"

namespace tenora::python {

namespace {

constexpr int kMaxArrays = 12;

struct PyKernel {
    std::string op, backend;
    PyObject *function = nullptr, *supports = nullptr, *wrap = nullptr;
    std::vector<ParamType> attribute_types;
    std::vector<std::string> attribute_names;
    PyObject* keyword_names[kMaxParams + 1] = {};  // by number of attributes: ("out", first names...)
    PyArrayObject* cached[kMaxArrays] = {};        // inputs, then outputs
};

DType dtype_of_dl(const DLTensor* t) { return from_dlpack(t->dtype); }

// An array made for no memory (an empty operand, or one known by its shape only) owns what NumPy gave it
// instead; shown other memory, it would free that.
bool reusable(PyArrayObject* array, const DLTensor* t, bool writable) {
    if (!t->data || PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA)) return false;
    if (Py_REFCNT(array) != 1 || PyArray_NDIM(array) != t->ndim ||
        bool(PyArray_ISWRITEABLE(array)) != writable)
        return false;
    int64_t item = t->dtype.bits / 8;
    if (PyArray_DESCR(array) != numpy_descr(dtype_of_dl(t))) return false;
    const npy_intp *dims = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    for (int d = 0; d < t->ndim; ++d) {
        if (dims[d] != t->shape[d] || strides[d] != t->strides[d] * item) return false;
    }
    return reinterpret_cast<uintptr_t>(t->data) % size_t(item) == 0;
}

PyArrayObject* new_array(const DLTensor* t, bool writable) {
    PyArray_Descr* descr = numpy_descr(dtype_of_dl(t));
    npy_intp strides[kMaxRank];
    int64_t item = t->dtype.bits / 8;
    for (int d = 0; d < t->ndim; ++d) strides[d] = npy_intp(t->strides[d] * item);
    Py_INCREF(descr);
    PyObject* array =
        PyArray_NewFromDescr(&PyArray_Type, descr, t->ndim, reinterpret_cast<npy_intp*>(t->shape), strides,
                             t->data, writable ? NPY_ARRAY_WRITEABLE : 0, nullptr);
    return reinterpret_cast<PyArrayObject*>(check(array));
}

// Arrays of one call. Taken out of the kernel's cache for its time, so that a recursive call makes its own.
class CallArrays {
  public:
    explicit CallArrays(PyKernel& kernel) : kernel_(kernel) {}

    ~CallArrays() {
        for (int i = 0; i < used_; ++i) {
            PyArrayObject* array = arrays_[i];
            if (!array) continue;
            bool alone = Py_REFCNT(array) == 1;
            if (alone && i < kMaxArrays && !kernel_.cached[i])
                kernel_.cached[i] = array;
            else
                Py_DECREF(array);
        }
    }

    PyObject* get(int i, const DLTensor* t, bool writable) {
        used_ = std::max(used_, i + 1);
        PyArrayObject* array = i < kMaxArrays ? std::exchange(kernel_.cached[i], nullptr) : nullptr;
        if (array && reusable(array, t, writable)) {
            reinterpret_cast<PyArrayObject_fields*>(array)->data = static_cast<char*>(t->data);
        } else {
            Py_XDECREF(array);
            array = nullptr;
            array = new_array(t, writable);
        }
        arrays_[i] = array;
        return reinterpret_cast<PyObject*>(array);
    }

    bool kept() const {
        for (int i = 0; i < used_; ++i) {
            if (arrays_[i] && Py_REFCNT(arrays_[i]) != 1) return true;
        }
        return false;
    }

  private:
    PyKernel& kernel_;
    int used_ = 0;
    PyArrayObject* arrays_[64] = {};
};

PyObject* keywords_for(PyKernel& k, size_t n_attr) {
    if (k.keyword_names[n_attr]) return k.keyword_names[n_attr];
    if (n_attr > k.attribute_names.size()) {
        raise_kind(ErrorKind::Runtime, "kernel", k.op,
                   "the kernel is handed " + std::to_string(n_attr) + " attributes, expected at most " +
                       std::to_string(k.attribute_names.size()) + ".");
    }
    PyRef names = own(PyTuple_New(Py_ssize_t(n_attr) + 1));
    PyTuple_SET_ITEM(names.get(), 0, check(PyUnicode_InternFromString("out")));
    for (size_t i = 0; i < n_attr; ++i)
        PyTuple_SET_ITEM(names.get(), Py_ssize_t(i) + 1,
                         check(PyUnicode_InternFromString(k.attribute_names[i].c_str())));
    return k.keyword_names[n_attr] = names.release();
}

// Where a kind of number stands in: bool < whole < real < complex; what is no number stands above all.
int rank_of(PyArrayObject* array) {
    switch (PyArray_DESCR(array)->kind) {
        case 'b':
            return 0;
        case 'i':
        case 'u':
            return 1;
        case 'f':
        case 'V':  // bfloat16
            return 2;
        case 'c':
            return 3;
        default:
            return 4;
    }
}

std::string described(PyArrayObject* array) {
    PyRef dtype = own(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array))));
    std::string text = to_text(dtype.get()) + "[";
    for (int d = 0; d < PyArray_NDIM(array); ++d)
        text += (d ? ", " : "") + std::to_string(PyArray_DIMS(array)[d]);
    return text + "]";
}

// What the kernel returned goes into the outputs. It is rounded to their dtype, never cut down to a lesser
// kind.
void store_result(PyKernel& k, PyObject* result, PyObject* out, uint16_t n_out) {
    if (result == Py_None || result == out) return;
    for (int i = 0; i < n_out; ++i) {
        PyObject* target = n_out == 1 ? out : PyTuple_GET_ITEM(out, i);
        PyObject* value = result;
        if (n_out > 1) {
            if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != n_out) {
                raise_kind(ErrorKind::Type, "kernel", k.op,
                           "the Python kernel of '" + k.backend + "' returned " + type_name(result) +
                               ", expected a tuple of " + std::to_string(n_out) + " arrays or None.");
            }
            value = PyTuple_GET_ITEM(result, i);
        }
        if (value == target) continue;
        PyRef array = own(PyArray_FROM_O(value));
        auto *from = reinterpret_cast<PyArrayObject*>(array.get()),
             *to = reinterpret_cast<PyArrayObject*>(target);
        if (!PyArray_SAMESHAPE(from, to) || rank_of(from) > rank_of(to)) {
            raise_kind(ErrorKind::Runtime, "kernel", k.op,
                       "what the Python kernel of '" + k.backend + "' returned is wrong: got " +
                           described(from) + ", expected " + described(to) +
                           ". Return an array of that shape and dtype, or fill `out`.");
        }
        if (PyArray_CopyInto(to, from) < 0) throw_python();
    }
}

// Only the backend knows how to copy its own arrays.
void refuse_result(PyKernel& k, PyObject* result, PyObject* out) {
    if (result == Py_None || result == out) return;
    raise_kind(ErrorKind::Runtime, "kernel", k.op,
               "what the Python kernel of '" + k.backend + "' returned is of no use: got " +
                   type_name(result) + ", expected None, as its memory is its own. Fill `out`.");
}

// A backend's own memory: the backend's own array type.
PyRef foreign_array(PyKernel& k, const DLTensor* t) {
    int64_t item = t->dtype.bits / 8, strides[kMaxRank];
    for (int d = 0; d < t->ndim; ++d) strides[d] = t->strides[d] * item;
    PyRef shape = PyRef::steal(tuple_of({t->shape, size_t(t->ndim)})),
          steps = PyRef::steal(tuple_of({strides, size_t(t->ndim)}));
    PyRef address = own(PyLong_FromVoidPtr(t->data)), index = own(PyLong_FromLong(t->device.device_id));
    return own(call_python([&] {
        return PyObject_CallFunctionObjArgs(k.wrap, address.get(), shape.get(), steps.get(),
                                            dtype_object(dtype_of_dl(t)), index.get(), nullptr);
    }));
}

struct Stack {  // positional arguments, then out and the attributes
    PyObject* values[64 + kMaxParams + 1];
    std::vector<PyRef> owned;
    size_t n = 1;  // values[0] is free for PY_VECTORCALL_ARGUMENTS_OFFSET
};

void push_attributes(PyKernel& k, const tnr_call* call, Stack& stack) {
    for (uint16_t i = 0; i < call->n_attr; ++i) {
        const tnr_attr& a = call->attr[i];
        PyObject* value;
        if (a.kind == TNR_ATTR_NONE)
            value = Py_None;
        else if (a.kind == TNR_ATTR_BOOL)
            value = a.value.i64 ? Py_True : Py_False;
        else if (a.kind == TNR_ATTR_DTYPE)
            value = dtype_object(DType(a.value.i64));
        else {
            ParamType type = i < k.attribute_types.size() ? k.attribute_types[i] : ParamType::Int;
            stack.owned.push_back(own(attribute_object(a, type)));
            value = stack.owned.back().get();
        }
        stack.values[stack.n++] = value;
    }
}

int32_t call_kernel(PyKernel& k, const tnr_call* call) {
    if (call->n_in > 40 || call->n_out > kMaxOutputs) {
        raise_kind(ErrorKind::Runtime, "kernel", k.op,
                   "too many operands for a Python kernel: got " + std::to_string(call->n_in) +
                       ", expected at most 40.");
    }
    PyObject* names = keywords_for(k, call->n_attr);
    PyRef result;
    {
        CallArrays arrays(k);
        Stack stack;
        auto array = [&](int i, const DLTensor* t, bool writable, bool host) -> PyObject* {
            if (!t) return Py_None;
            if (host || !k.wrap) return arrays.get(i, t, writable);
            stack.owned.push_back(foreign_array(k, t));
            return stack.owned.back().get();
        };
        for (int i = 0; i < call->n_in; ++i)
            stack.values[stack.n++] = array(i, call->in[i], false, (call->host_scalar_mask >> i) & 1);
        size_t positional = stack.n - 1;
        PyRef out_tuple;
        if (call->n_out == 1) {
            stack.values[stack.n++] = array(call->n_in, call->out[0], true, false);
        } else {
            out_tuple = own(PyTuple_New(call->n_out));
            for (int i = 0; i < call->n_out; ++i)
                PyTuple_SET_ITEM(out_tuple.get(), i,
                                 Py_NewRef(array(call->n_in + i, call->out[i], true, false)));
            stack.values[stack.n++] = out_tuple.get();
        }
        PyObject* out = stack.values[positional + 1];
        push_attributes(k, call, stack);
        result = own(call_python([&] {
            return PyObject_Vectorcall(k.function, stack.values + 1,
                                       positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
        }));
        if (k.wrap)
            refuse_result(k, result.get(), out);
        else
            store_result(k, result.get(), out, call->n_out);
        result = PyRef();
        out_tuple = PyRef();
        if (arrays.kept()) {
            raise_kind(ErrorKind::Runtime, "kernel", k.op,
                       "the Python kernel of '" + k.backend +
                           "' keeps an array beyond its call. Copy what it needs.");
        }
    }
    return TNR_OK;
}

// What a kernel says of its data is told by the dispatcher, which knows the op the user called; any other
// exception keeps its class and says where it was raised.
int32_t run_guarded(PyKernel& k, const tnr_call* call) {
    try {
        return call_kernel(k, call);
    } catch (PythonError& error) {
        bool index = error.is_a(PyExc_IndexError);
        if ((!index && !error.is_a(PyExc_ZeroDivisionError)) || !call->error || !call->error_size) {
            error.message = "[" + k.op + "] raised by the Python kernel of '" + k.backend + "'";
            throw;
        }
        std::string what = error.text();
        what.resize(std::min(what.size(), call->error_size - 1));
        std::memcpy(call->error, what.c_str(), what.size() + 1);
        keep_cause(error);
        return index ? TNR_INDEX_ERROR : TNR_ZERO_DIVISION;
    }
}

int32_t run(const tnr_call* call) {
    auto& k = *static_cast<PyKernel*>(call->state);
    if (PyGILState_Check()) return run_guarded(k, call);
    GilGuard gil;
    return run_guarded(k, call);
}

int32_t supports(const tnr_call* call) {
    auto& k = *static_cast<PyKernel*>(call->state);
    GilGuard gil;
    Stack stack;
    for (int i = 0; i < call->n_in; ++i) {
        const DLTensor* t = call->in[i];
        if (!t) {
            stack.values[stack.n++] = Py_None;
            continue;
        }
        PyRef shape = PyRef::steal(tuple_of({t->shape, size_t(t->ndim)}));
        stack.owned.push_back(own(PyTuple_Pack(2, shape.get(), dtype_object(dtype_of_dl(t)))));
        stack.values[stack.n++] = stack.owned.back().get();
    }
    size_t positional = stack.n - 1;
    PyRef names = own(PyTuple_GetSlice(keywords_for(k, call->n_attr), 1, Py_ssize_t(call->n_attr) + 1));
    push_attributes(k, call, stack);
    PyRef answer = own(call_python([&] {
        return PyObject_Vectorcall(k.supports, stack.values + 1, positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   names.get());
    }));
    if (answer.get() == Py_True) return 1;
    if (call->error && call->error_size) {
        std::string reason = PyUnicode_Check(answer.get()) ? to_text(answer.get()) : "the kernel declines";
        std::strncpy(call->error, reason.c_str(), call->error_size - 1);
        call->error[call->error_size - 1] = 0;
    }
    return 0;
}

}  // namespace

// The attributes that the op's prepare function hands over instead of the declared ones.
static void keep_prepared(PyKernel& k, std::string_view names) {
    std::vector<std::string> declared = std::exchange(k.attribute_names, {});
    std::vector<ParamType> types = std::exchange(k.attribute_types, {});
    while (!names.empty()) {
        std::string name(names.substr(0, names.find(' ')));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        auto at = size_t(std::find(declared.begin(), declared.end(), name) - declared.begin());
        k.attribute_types.push_back(at < declared.size() ? types[at] : ParamType::Int);
        k.attribute_names.push_back(std::move(name));
    }
}

KernelEntry python_kernel(const std::string& op_name, PyObject* function, PyObject* supports_function,
                          PyObject* wrap, const std::string& backend) {
    if (!PyCallable_Check(function))
        raise_kind(ErrorKind::Type, "kernel", op_name,
                   "the kernel of '" + backend + "' is not callable: got " + type_name(function) + ".");
    need_numpy();
    auto* k = new PyKernel();  // immortal, as its table entry is
    k->op = op_name;
    k->backend = backend;
    k->function = Py_NewRef(function);
    if (supports_function && supports_function != Py_None) k->supports = Py_NewRef(supports_function);
    if (wrap && wrap != Py_None) k->wrap = Py_NewRef(wrap);
    if (const OpInfo* info = find_op_info(op_name)) {
        for (const Param& p : info->signature->params) {
            if (is_operand(p.type)) continue;
            k->attribute_names.push_back(p.name);
            k->attribute_types.push_back(p.type);
        }
        const Prepare* prepare = op(info->id).prepare;
        if (prepare && prepare->attributes) keep_prepared(*k, prepare->attributes);
    }
    KernelEntry entry;
    entry.run = run;
    entry.state = k;
    entry.python = true;
    if (k->supports) entry.supports = supports;
    return entry;
}

}  // namespace tenora::python
