// Element types, their sizes and PyTorch's promotion lattice. Numbers equal `tnr_dtype` of tenora_backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenora_backend.h"

namespace tenora {

enum class DType : uint8_t {
    Bool = TNR_BOOL,
    U8 = TNR_U8,
    U16 = TNR_U16,
    U32 = TNR_U32,
    U64 = TNR_U64,
    I8 = TNR_I8,
    I16 = TNR_I16,
    I32 = TNR_I32,
    I64 = TNR_I64,
    F16 = TNR_F16,
    BF16 = TNR_BF16,
    F32 = TNR_F32,
    F64 = TNR_F64,
    C64 = TNR_C64,
    C128 = TNR_C128,
    None = 255
};

enum class Category : uint8_t { Bool, Integral, Floating, Complex };

struct DTypeInfo {
    std::string_view name;  // "float32"
    uint8_t size;           // bytes
    Category category;
    DLDataType dl;
};

extern const DTypeInfo dtype_table[256];  // numbers that are no type have size 0
inline const DTypeInfo& info(DType dtype) { return dtype_table[size_t(dtype)]; }
inline size_t size_of(DType dtype) { return info(dtype).size; }
inline bool is_floating(DType dtype) { return info(dtype).category == Category::Floating; }
inline bool is_complex(DType dtype) { return info(dtype).category == Category::Complex; }
inline bool is_integral(DType dtype) { return info(dtype).category == Category::Integral; }
inline bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

DType from_dlpack(DLDataType dl);  // throws Error(TypeError) for types tenora does not have
DType promote(DType a, DType b);   // two dimensioned tensors
DType to_complex(DType real);      // f32 -> c64, f64 -> c128, half -> c64
DType to_real(DType complex);      // c64 -> f32, c128 -> f64, others unchanged

DType default_dtype();  // f32 unless set; process-wide
void set_default_dtype(DType dtype);

}  // namespace tenora
