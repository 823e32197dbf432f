// Element types and PyTorch's promotion of two dimensioned tensors.
//   - bool < integers < floating < complex; inside a category the wider type wins.
//   - u8 with a signed type gives the smallest signed type that holds both; f16 with bf16 gives f32.
//   - u16, u32, u64 promote with themselves and with floating types only, as in PyTorch.
//   - A complex result has at least the precision of the floating operand.
#include "tenora/dtype.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "tenora/error.h"

namespace tenora {
namespace {

constexpr int kCount = TNR_DTYPE_COUNT;
constexpr uint8_t kDlInt = 0, kDlUint = 1, kDlFloat = 2, kDlBfloat = 4, kDlComplex = 5, kDlBool = 6;

constexpr DTypeInfo entry(std::string_view name, uint8_t size, Category category, uint8_t code) {
    return DTypeInfo{name, size, category, DLDataType{code, uint8_t(size * 8), 1}};
}

constexpr bool wide_unsigned(DType t) { return t == DType::U16 || t == DType::U32 || t == DType::U64; }

DType promote_integers(DType a, DType b) {
    if (wide_unsigned(a) || wide_unsigned(b)) return DType::None;
    if (a == DType::U8) std::swap(a, b);
    if (b == DType::U8) return a == DType::I8 ? DType::I16 : a;
    return std::max(a, b);  // signed types are numbered by width
}

DType promote_floating(DType a, DType b) {
    bool halves = size_of(a) == 2 && size_of(b) == 2;
    return halves ? DType::F32 : std::max(a, b);  // numbered by precision, the two halves apart
}

// None: the pair has no common type.
DType promote_different(DType a, DType b) {
    Category ca = info(a).category, cb = info(b).category;
    if (ca > cb) {
        std::swap(a, b);
        std::swap(ca, cb);
    }
    if (cb == Category::Complex) {
        if (wide_unsigned(a)) return DType::None;
        if (ca == Category::Complex) return DType::C128;
        return ca == Category::Floating && a == DType::F64 ? DType::C128 : b;
    }
    if (cb == Category::Floating) return ca == Category::Floating ? promote_floating(a, b) : b;
    if (ca == Category::Bool) return wide_unsigned(b) ? DType::None : b;
    return promote_integers(a, b);
}

using Table = std::array<std::array<DType, kCount>, kCount>;

Table make_table() {
    Table table;
    for (int a = 0; a < kCount; ++a) {
        for (int b = 0; b < kCount; ++b)
            table[a][b] = a == b ? DType(a) : promote_different(DType(a), DType(b));
    }
    return table;
}

std::atomic<DType> default_type{DType::F32};

}  // namespace

constexpr DTypeInfo dtype_table[256] = {
    entry("bool", 1, Category::Bool, kDlBool),
    entry("uint8", 1, Category::Integral, kDlUint),
    entry("uint16", 2, Category::Integral, kDlUint),
    entry("uint32", 4, Category::Integral, kDlUint),
    entry("uint64", 8, Category::Integral, kDlUint),
    entry("int8", 1, Category::Integral, kDlInt),
    entry("int16", 2, Category::Integral, kDlInt),
    entry("int32", 4, Category::Integral, kDlInt),
    entry("int64", 8, Category::Integral, kDlInt),
    entry("float16", 2, Category::Floating, kDlFloat),
    entry("bfloat16", 2, Category::Floating, kDlBfloat),
    entry("float32", 4, Category::Floating, kDlFloat),
    entry("float64", 8, Category::Floating, kDlFloat),
    entry("complex64", 8, Category::Complex, kDlComplex),
    entry("complex128", 16, Category::Complex, kDlComplex),
};

DType from_dlpack(DLDataType dl) {
    for (int i = 0; i < kCount; ++i) {
        const DLDataType& known = dtype_table[i].dl;
        if (known.code == dl.code && known.bits == dl.bits && dl.lanes == 1) return DType(i);
    }
    fail(ErrorKind::Type, "dtype", "from_dlpack",
         "unknown element type: got DLPack code " + std::to_string(dl.code) + " with " +
             std::to_string(dl.bits) + " bits and " + std::to_string(dl.lanes) +
             " lanes, expected one of bool, 8 to 64 bit integers, float16, bfloat16, float32, float64, "
             "complex64, "
             "complex128. Convert the array first.");
}

DType promote(DType a, DType b) {
    static const Table table = make_table();
    if (a == b) return a;
    DType result = table[size_t(a)][size_t(b)];
    if (result == DType::None) {
        fail(ErrorKind::Runtime, "dtype", "promote",
             "no common type: got " + std::string(info(a).name) + " and " + std::string(info(b).name) +
                 ", expected types that promote (uint16, uint32 and uint64 do so with floating types only). "
                 "Convert one "
                 "of them.");
    }
    return result;
}

DType to_complex(DType real) {
    if (is_complex(real)) return real;
    return real == DType::F64 ? DType::C128 : DType::C64;
}

DType to_real(DType complex) {
    if (complex == DType::C64) return DType::F32;
    return complex == DType::C128 ? DType::F64 : complex;
}

DType default_dtype() { return default_type.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
    if (!is_floating(dtype)) {
        fail(ErrorKind::Type, "dtype", "set_default_dtype",
             "not a floating type: got " + std::string(info(dtype).name) +
                 ", expected float16, bfloat16, float32 or float64. Choose one of these.");
    }
    default_type.store(dtype, std::memory_order_relaxed);
}

}  // namespace tenora
