// What every driver needs of a call: dtypes, sizes, attributes, errors.
//
// Headers that are compiled for several instruction sets put everything into the namespace of the set
// (TENORA_ISA): an inline function compiled for AVX-512 must never be the one the linker keeps for everybody.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "tenora_backend.h"

namespace tenora::cpu::TENORA_ISA {

inline constexpr int kMaxRank = 64;

inline constexpr uint8_t kSizes[TNR_DTYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};

// Rows: DLPack's type code; columns: log2 of the bits.
inline constexpr uint8_t kDtypeOf[7][8] = {{0, 0, 0, TNR_I8, TNR_I16, TNR_I32, TNR_I64, 0},
                                           {0, 0, 0, TNR_U8, TNR_U16, TNR_U32, TNR_U64, 0},
                                           {0, 0, 0, 0, TNR_F16, TNR_F32, TNR_F64, 0},
                                           {0},
                                           {0, 0, 0, 0, TNR_BF16, 0, 0, 0},
                                           {0, 0, 0, 0, 0, 0, TNR_C64, TNR_C128},
                                           {0, 0, 0, TNR_BOOL, 0, 0, 0, 0}};

inline tnr_dtype dtype_of(const DLTensor& t) {
    return static_cast<tnr_dtype>(kDtypeOf[t.dtype.code][__builtin_ctz(t.dtype.bits)]);
}

inline int64_t count_of(const DLTensor& t) {
    int64_t n = 1;
    for (int d = 0; d < t.ndim; ++d) n *= t.shape[d];
    return n;
}

inline bool is_dense(const DLTensor& t) {
    int64_t expected = 1;
    for (int d = t.ndim - 1; d >= 0; --d) {
        if (t.shape[d] != 1 && t.strides[d] != expected) return false;
        expected *= t.shape[d];
    }
    return true;
}

inline bool is_host_scalar(const tnr_call* call, int i) { return call->host_scalar_mask >> i & 1; }

template <class... Values>
int32_t fail(const tnr_call* call, int32_t status, const char* format, Values... values) {
    if (call->error && call->error_size) {
        if constexpr (sizeof...(values) == 0) {
            std::snprintf(call->error, call->error_size, "%s", format);
        } else {
            std::snprintf(call->error, call->error_size, format, values...);
        }
    }
    return status;
}

inline int32_t unsupported(const tnr_call* call) {
    return fail(call, TNR_NOT_SUPPORTED, "the native CPU backend has no kernel for this dtype");
}

// Attributes. An absent one (kind NONE, or fewer attributes than the signature) gives the default.
inline int64_t int_attr(const tnr_call* call, int i, int64_t otherwise) {
    if (i >= call->n_attr) return otherwise;
    const tnr_attr& a = call->attr[i];
    if (a.kind == TNR_ATTR_NONE) return otherwise;
    if (a.kind == TNR_ATTR_F64 || (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_F64)) {
        return static_cast<int64_t>(a.value.f64);
    }
    return a.value.i64;
}

inline double number_attr(const tnr_call* call, int i, double otherwise) {
    if (i >= call->n_attr) return otherwise;
    const tnr_attr& a = call->attr[i];
    if (a.kind == TNR_ATTR_NONE) return otherwise;
    if (a.kind == TNR_ATTR_F64 || (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_F64)) return a.value.f64;
    return static_cast<double>(a.value.i64);
}

inline bool has_attr(const tnr_call* call, int i) {
    return i < call->n_attr && call->attr[i].kind != TNR_ATTR_NONE;
}

inline bool string_attr_is(const tnr_call* call, int i, const char* text) {
    if (i >= call->n_attr || call->attr[i].kind != TNR_ATTR_STRING) return false;
    const tnr_attr& a = call->attr[i];
    return std::strlen(text) == a.count && std::memcmp(a.value.string, text, a.count) == 0;
}

// The dimensions of a reduction as a bit mask; a plain int counts as a span of one.
inline uint64_t dims_attr(const tnr_call* call, int i) {
    uint64_t mask = 0;
    if (i < call->n_attr && call->attr[i].kind == TNR_ATTR_SPAN) {
        for (uint32_t d = 0; d < call->attr[i].count; ++d) mask |= uint64_t{1} << call->attr[i].value.span[d];
    } else if (has_attr(call, i)) {
        mask = uint64_t{1} << call->attr[i].value.i64;
    }
    return mask;
}

}  // namespace tenora::cpu::TENORA_ISA
