// One element between memory and a Python number. Host code: no kernel is involved in looking at a value.

#include "scalar_read.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

#include "tenora/dispatch.h"
#include "tenora/stream.h"

namespace tenora::python {

namespace {

template <class T>
T load(const void* data) {
    T v;
    std::memcpy(&v, data, sizeof v);
    return v;
}

template <class T>
void store(void* data, T v) {
    std::memcpy(data, &v, sizeof v);
}

// Out of range is undefined in C++; the value wraps or saturates as PyTorch's does, which promises nothing
// either.
template <class T>
T to_integer(const Scalar& s) {
    if (s.kind != Scalar::Kind::Float && s.kind != Scalar::Kind::Complex) return T(s.i);
    if (!(s.f > -9.3e18 && s.f < 1.8e19)) return T(0);
    return s.f < 0 ? T(int64_t(s.f)) : T(uint64_t(s.f));
}

PyObject* nested(const char* data, std::span<const int64_t> shape, std::span<const int64_t> strides,
                 DType dtype) {
    if (shape.empty()) return element_object(data, dtype);
    PyRef list = own(PyList_New(Py_ssize_t(shape[0])));
    int64_t step = strides[0] * int64_t(size_of(dtype));
    for (int64_t i = 0; i < shape[0]; ++i) {
        PyList_SET_ITEM(list.get(), Py_ssize_t(i),
                        nested(data + i * step, shape.subspan(1), strides.subspan(1), dtype));
    }
    return list.release();
}

}  // namespace

float half_to_float(uint16_t h) {
    uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    float value = std::ldexp(float(mantissa), -24);
    return sign ? -value : value;
}

uint16_t float_to_half(float f) {
    uint32_t bits = std::bit_cast<uint32_t>(f);
    uint16_t sign = uint16_t((bits >> 16) & 0x8000);
    float magnitude = std::fabs(f);
    if (std::isnan(f)) return uint16_t(sign | 0x7e00);
    if (magnitude >= 65520.0f) return uint16_t(sign | 0x7c00);
    if (magnitude < 6.103515625e-05f) {  // subnormal: round to a multiple of 2**-24
        return uint16_t(sign | uint16_t(std::nearbyint(std::ldexp(magnitude, 24))));
    }
    uint32_t m = std::bit_cast<uint32_t>(magnitude) - (112u << 23);
    m += 0xfff + ((m >> 13) & 1);
    return uint16_t(sign | (m >> 13));
}

uint16_t float_to_bfloat16(float f) {
    uint32_t bits = std::bit_cast<uint32_t>(f);
    if (std::isnan(f)) return uint16_t((bits >> 16) | 0x40);
    return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

TensorRef on_host(Tensor* t, const char* why) {
    (void)why;
    const Space& memory = space(t->device);
    if (!memory.host_accessible()) return to_device(t, Device{}, false);
    if (!memory.host_order()) {
        GilRelease released;
        synchronize(t->device);
    }
    return TensorRef(t);
}

PyObject* element_object(const void* p, DType dtype) {
    switch (dtype) {
        case DType::Bool:
            return new_bool(load<uint8_t>(p) != 0);
        case DType::U8:
            return check(PyLong_FromLong(load<uint8_t>(p)));
        case DType::U16:
            return check(PyLong_FromLong(load<uint16_t>(p)));
        case DType::U32:
            return check(PyLong_FromUnsignedLong(load<uint32_t>(p)));
        case DType::U64:
            return check(PyLong_FromUnsignedLongLong(load<uint64_t>(p)));
        case DType::I8:
            return check(PyLong_FromLong(load<int8_t>(p)));
        case DType::I16:
            return check(PyLong_FromLong(load<int16_t>(p)));
        case DType::I32:
            return check(PyLong_FromLong(load<int32_t>(p)));
        case DType::I64:
            return check(PyLong_FromLongLong(load<int64_t>(p)));
        case DType::F16:
            return check(PyFloat_FromDouble(half_to_float(load<uint16_t>(p))));
        case DType::BF16:
            return check(PyFloat_FromDouble(std::bit_cast<float>(uint32_t(load<uint16_t>(p)) << 16)));
        case DType::F32:
            return check(PyFloat_FromDouble(load<float>(p)));
        case DType::F64:
            return check(PyFloat_FromDouble(load<double>(p)));
        case DType::C64: {
            auto v = load<std::complex<float>>(p);
            return check(PyComplex_FromDoubles(v.real(), v.imag()));
        }
        case DType::C128: {
            auto v = load<std::complex<double>>(p);
            return check(PyComplex_FromDoubles(v.real(), v.imag()));
        }
        default:
            raise(PyExc_SystemError, "unknown dtype");
    }
}

void write_element(void* p, DType dtype, const Scalar& s) {
    bool floating = s.kind == Scalar::Kind::Float || s.kind == Scalar::Kind::Complex;
    double real = s.real();
    double imag = s.kind == Scalar::Kind::Complex ? s.imag : 0;
    switch (dtype) {
        case DType::Bool:
            return store<uint8_t>(p, floating ? real != 0 || imag != 0 : s.i != 0);
        case DType::U8:
            return store(p, to_integer<uint8_t>(s));
        case DType::U16:
            return store(p, to_integer<uint16_t>(s));
        case DType::U32:
            return store(p, to_integer<uint32_t>(s));
        case DType::U64:
            return store(p, to_integer<uint64_t>(s));
        case DType::I8:
            return store(p, to_integer<int8_t>(s));
        case DType::I16:
            return store(p, to_integer<int16_t>(s));
        case DType::I32:
            return store(p, to_integer<int32_t>(s));
        case DType::I64:
            return store(p, to_integer<int64_t>(s));
        case DType::F16:
            return store(p, float_to_half(float(real)));
        case DType::BF16:
            return store(p, float_to_bfloat16(float(real)));
        case DType::F32:
            return store(p, float(real));
        case DType::F64:
            return store(p, real);
        case DType::C64:
            return store(p, std::complex<float>(float(real), float(imag)));
        case DType::C128:
            return store(p, std::complex<double>(real, imag));
        default:
            raise(PyExc_SystemError, "unknown dtype");
    }
}

PyObject* item_object(Tensor* t) {
    if (t->numel != 1) {
        raise_kind(ErrorKind::Runtime, "shape", "item",
                   "only one element can become a number: got " + describe(t) + ", expected one element.");
    }
    TensorRef host = on_host(t, "item");
    return element_object(host->dl.data, t->dtype);
}

PyObject* list_object(Tensor* t) {
    TensorRef host = on_host(t, "tolist");
    StorageRef storage(host->storage);  // a callback of the collector may change what the tensor points at
    return nested(static_cast<const char*>(host->dl.data), host->shape(), host->strides(), t->dtype);
}

}  // namespace tenora::python
