// Attributes and operands of a call, by value.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenora/dtype.h"

namespace tenora {

struct Tensor;

// A host number. `weak`: a Python number, which promotes by category only (PyTorch's rule).
struct Scalar {
    enum class Kind : uint8_t { Bool, Int, Float, Complex } kind = Kind::Float;
    bool weak = true;
    bool wide = false;  // Int of 2**63 and more: `i` holds its 64 bits without a sign
    union {
        int64_t i;
        double f;
    };
    double imag = 0;  // Complex only: real part in f
    Scalar() : f(0) {}
    static Scalar from_bool(bool v) {
        Scalar s;
        s.kind = Kind::Bool;
        s.i = v;
        return s;
    }
    static Scalar from_int(int64_t v) {
        Scalar s;
        s.kind = Kind::Int;
        s.i = v;
        return s;
    }
    static Scalar from_unsigned(uint64_t v) {
        Scalar s = from_int(int64_t(v));
        s.wide = v >> 63;
        return s;
    }
    static Scalar from_float(double v) {
        Scalar s;
        s.kind = Kind::Float;
        s.f = v;
        return s;
    }
    static Scalar from_complex(double re, double im) {
        Scalar s;
        s.kind = Kind::Complex;
        s.f = re;
        s.imag = im;
        return s;
    }
    double real() const {  // its value, or real part, as near as a double comes
        if (kind == Kind::Float || kind == Kind::Complex) return f;
        return wide ? double(uint64_t(i)) : double(i);
    }
};

// Error when `dtype` cannot hold the integer; negative ones wrap in unsigned dtypes, as in PyTorch.
void check_range(std::string_view op, const Scalar& s, DType dtype);

// An attribute is a tnr_attr (tagged, 16 bytes). Spans and strings point at memory that outlives the call; a
// Node or a Program that keeps attributes copies them with AttrList below.
using Attr = tnr_attr;

inline Attr attr_none() { return Attr{TNR_ATTR_NONE, 0, 0, 0, 0, {0}}; }
inline Attr attr_int(int64_t v) {
    Attr a{TNR_ATTR_I64, 0, 0, 0, 0, {0}};
    a.value.i64 = v;
    return a;
}
inline Attr attr_float(double v) {
    Attr a{TNR_ATTR_F64, 0, 0, 0, 0, {0}};
    a.value.f64 = v;
    return a;
}
inline Attr attr_bool(bool v) {
    Attr a{TNR_ATTR_BOOL, 0, 0, 0, 0, {0}};
    a.value.i64 = v;
    return a;
}
inline Attr attr_dtype(DType v) {
    Attr a{TNR_ATTR_DTYPE, 0, 0, 0, 0, {0}};
    a.value.i64 = int64_t(v);
    return a;
}
inline Attr attr_span(std::span<const int64_t> v) {
    Attr a{TNR_ATTR_SPAN, 0, 0, 0, uint32_t(v.size()), {0}};
    a.value.span = v.data();
    return a;
}
inline Attr attr_string(std::string_view v) {
    Attr a{TNR_ATTR_STRING, 0, 0, 0, uint32_t(v.size()), {0}};
    a.value.string = v.data();
    return a;
}
Scalar scalar_of(const Attr& a);  // of a number of any attribute kind
Attr attr_scalar(
    const Scalar& s);  // bool, int, float; a complex number is passed as a 0-d tensor operand instead

// One tensor-or-number argument of an op. Borrowed: the caller keeps the tensor alive during the call.
struct Operand {
    Tensor* tensor = nullptr;  // null: `scalar` if has_scalar, else an absent optional tensor
    Scalar scalar;
    bool has_scalar = false;
    Operand() = default;
    Operand(Tensor* t) : tensor(t) {}
    Operand(Scalar s) : scalar(s), has_scalar(true) {}
};

// Bit of operand `i` in a mask of operands: bit 63 stands for every operand from 63 on.
inline uint64_t operand_bit(size_t i) { return uint64_t(1) << (i < 63 ? i : 63); }

}  // namespace tenora
