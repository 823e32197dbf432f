// The small immutable types: dtype, device, Size; and their conversions.
#pragma once

#include <span>

#include "python_common.h"
#include "tenora/dtype.h"
#include "tenora/space.h"

namespace tenora::python {

struct DTypeObject {
    PyObject_HEAD DType dtype;
};
extern PyTypeObject DTypeType;
inline bool is_dtype(PyObject* o) { return Py_IS_TYPE(o, &DTypeType); }
inline DType dtype_of(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->dtype; }
PyObject* dtype_object(DType dtype);                // borrowed, lives for ever
bool to_dtype(PyObject* o, DType* out);             // dtype, or float/int/bool/complex as PyTorch reads them
DType dtype_argument(PyObject* o, const char* op);  // throws TypeError; None -> DType::None

struct DeviceObject {
    PyObject_HEAD PyObject* type;  // str
    int index;                     // -1: none given
};
extern PyTypeObject DeviceType;
inline bool is_device(PyObject* o) { return Py_IS_TYPE(o, &DeviceType); }
PyObject* device_object(Device device);               // new reference
PyObject* parse_device(PyObject* o, const char* op);  // str or device -> new reference to a device object
Device resolve_device(PyObject* o,
                      const char* op);  // str or device -> Device; may load a backend through the chooser
Device device_argument(PyObject* o, const char* op);  // None or null -> the host
void set_chooser(PyObject* callable);
void install_chooser_hook();

extern PyTypeObject SizeType;
PyObject* size_object(std::span<const int64_t> shape);  // new Size
PyObject* tuple_of(std::span<const int64_t> values);    // new plain tuple

void ready_plain_types(PyObject* module);

}  // namespace tenora::python
