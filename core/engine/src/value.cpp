// Numbers as attributes, and as bytes of any dtype.
#include <bit>
#include <cstring>

#include "call.h"
#include "text.h"

namespace tenora {

Attr attr_scalar(const Scalar& s) {
    Attr a{TNR_ATTR_SCALAR, s.weak, TNR_F64, 0, 0, {0}};
    switch (s.kind) {
        case Scalar::Kind::Bool:
            a.dtype = TNR_BOOL;
            a.value.i64 = s.i;
            return a;
        case Scalar::Kind::Int:
            a.dtype = s.wide ? TNR_U64 : TNR_I64;
            a.value.i64 = s.i;
            return a;
        case Scalar::Kind::Float:
            a.value.f64 = s.f;
            return a;
        case Scalar::Kind::Complex:
            break;
    }
    fail(ErrorKind::Type, "argument", "",
         "a complex number cannot be an attribute: got complex, expected a real number. Pass a 0-d complex "
         "tensor.");
}

Scalar scalar_of(const Attr& a) {
    Scalar s;
    switch (a.kind) {
        case TNR_ATTR_I64:
            s = Scalar::from_int(a.value.i64);
            break;
        case TNR_ATTR_BOOL:
            s = Scalar::from_bool(a.value.i64 != 0);
            break;
        case TNR_ATTR_F64:
            s = Scalar::from_float(a.value.f64);
            break;
        case TNR_ATTR_SCALAR:
            s = a.dtype == TNR_F64    ? Scalar::from_float(a.value.f64)
                : a.dtype == TNR_BOOL ? Scalar::from_bool(a.value.i64 != 0)
                : a.dtype == TNR_U64  ? Scalar::from_unsigned(uint64_t(a.value.i64))
                                      : Scalar::from_int(a.value.i64);
            s.weak = a.weak;
            break;
        default:
            fail(ErrorKind::Type, "argument", "",
                 text("not a number: got attribute kind ", int(a.kind),
                      ", expected int, float or bool. Pass a number."));
    }
    return s;
}

namespace {

// Round to nearest, ties to even; a double goes to half in one rounding.
uint16_t to_half(double value, int mantissa_bits, int exponent_bits) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    uint16_t sign = uint16_t(bits >> 63 << 15);
    uint16_t infinity = uint16_t(((1u << exponent_bits) - 1) << mantissa_bits);
    if (value != value) return uint16_t(sign | infinity | (1u << (mantissa_bits - 1)));
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = int(bits >> 52 & 0x7ff) - 1023;
    if (exponent > bias) return sign | infinity;
    if (exponent == -1023) return sign;  // zero or a double subnormal: far below every half
    uint64_t mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
    int shift = 52 - mantissa_bits;
    int64_t biased = exponent + bias;
    if (biased <= 0) {  // subnormal half
        shift += int(1 - biased);
        biased = 0;
        if (shift > 63) return sign;
    }
    uint64_t kept = mantissa >> shift, lost = mantissa & ((1ull << shift) - 1), halfway = 1ull << (shift - 1);
    kept += lost > halfway || (lost == halfway && (kept & 1));
    // The hidden bit adds one to the exponent; a carry out of the mantissa adds another.
    uint64_t result = biased ? (uint64_t(biased - 1) << mantissa_bits) + kept : kept;
    return sign | uint16_t(result);
}

template <class T>
void put(void* data, T value) {
    std::memcpy(data, &value, sizeof value);
}

int64_t integer_of(const Scalar& s) {
    if (s.kind == Scalar::Kind::Bool || s.kind == Scalar::Kind::Int) return s.i;
    if (s.f != s.f) return 0;
    if (s.f >= 9223372036854775808.0) return INT64_MAX;
    if (s.f < -9223372036854775808.0) return INT64_MIN;
    return int64_t(s.f);
}

}  // namespace

void store_scalar(const Scalar& s, DType dtype, void* data) {
    switch (dtype) {
        case DType::Bool:
            put<uint8_t>(data, s.real() != 0 || (s.kind == Scalar::Kind::Complex && s.imag != 0));
            return;
        case DType::U8:
        case DType::I8:
            put(data, uint8_t(integer_of(s)));
            return;
        case DType::U16:
        case DType::I16:
            put(data, uint16_t(integer_of(s)));
            return;
        case DType::U32:
        case DType::I32:
            put(data, uint32_t(integer_of(s)));
            return;
        case DType::U64:
        case DType::I64:
            put(data, integer_of(s));
            return;
        case DType::F16:
            put(data, to_half(s.real(), 10, 5));
            return;
        case DType::BF16:
            put(data, to_half(s.real(), 7, 8));
            return;
        case DType::F32:
            put(data, float(s.real()));
            return;
        case DType::F64:
            put(data, s.real());
            return;
        case DType::C64: {
            float parts[] = {float(s.real()), float(s.kind == Scalar::Kind::Complex ? s.imag : 0)};
            std::memcpy(data, parts, sizeof parts);
            return;
        }
        case DType::C128: {
            double parts[] = {s.real(), s.kind == Scalar::Kind::Complex ? s.imag : 0};
            std::memcpy(data, parts, sizeof parts);
            return;
        }
        case DType::None:
            return;
    }
}

// PyTorch's rule for numbers that are written into a tensor: an imaginary part must find room, a float must
// lie within what integers hold; negative integers wrap once in unsigned dtypes.
void check_range(std::string_view op, const Scalar& s, DType dtype) {
    if (dtype == DType::Bool) return;
    if (s.kind == Scalar::Kind::Complex && !is_complex(dtype) && s.imag != 0)
        fail(ErrorKind::Runtime, "value", op,
             text("value cannot be converted to ", dtype,
                  " without overflow: got a complex number, expected a "
                  "real one. Use a complex dtype."));
    if (!is_integral(dtype) || s.kind == Scalar::Kind::Bool) return;
    int bits = int(size_of(dtype)) * 8;
    bool is_unsigned = info(dtype).dl.code == 1, is_whole = s.kind == Scalar::Kind::Int;
    uint64_t largest = ~uint64_t(0) >> (64 - bits + !is_unsigned);
    bool negative = is_whole && s.i < 0 && !s.wide;
    int64_t smallest = is_unsigned ? -int64_t(largest >> 1) - 1 : -int64_t(largest) - 1;
    double least = is_unsigned ? 0 : double(smallest), real = s.real();
    if (is_whole ? (negative ? s.i >= smallest : uint64_t(s.i) <= largest)
                 : (real >= least && real <= double(largest)))
        return;
    std::string given = !is_whole ? text(real) : s.wide ? std::to_string(uint64_t(s.i)) : std::to_string(s.i);
    fail(ErrorKind::Runtime, "value", op,
         text("value cannot be converted to ", dtype, " without overflow: got ", given, ", expected ",
              is_unsigned ? std::string("0") : std::to_string(smallest), " to ", std::to_string(largest),
              ". Use a wider dtype."));
}

void LocalScalar::reset(const Scalar& value, DType dtype) {
    store_scalar(value, dtype, data_);
    dims_[0] = dims_[1] = 0;
    tensor_.dtype = dtype;
    tensor_.device = Device{};
    tensor_.numel = 1;
    tensor_.dl.data = data_;
    tensor_.dl.device = {1, 0};
    tensor_.dl.ndim = 0;
    tensor_.dl.dtype = info(dtype).dl;
    tensor_.dl.shape = dims_;
    tensor_.dl.strides = dims_ + 1;
}

void LocalView::reset(const Tensor* base, std::span<const int64_t> shape, std::span<const int64_t> strides,
                      int64_t shift) {
    tensor_.dtype = base->dtype;
    tensor_.device = base->device;
    tensor_.storage = base->storage;
    tensor_.offset = base->offset + shift;
    tensor_.dl = base->dl;
    tensor_.dl.data = static_cast<char*>(base->dl.data) + shift * int64_t(size_of(base->dtype));
    tensor_.dl.ndim = int32_t(shape.size());
    tensor_.dl.shape = dims_;
    tensor_.dl.strides = dims_ + kMaxRank;
    tensor_.numel = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
        dims_[i] = shape[i];
        dims_[kMaxRank + i] = strides[i];
        tensor_.numel *= shape[i];
    }
    tensor_.contiguous = is_dense(shape, strides);
}

}  // namespace tenora
