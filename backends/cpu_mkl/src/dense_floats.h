// Dense operands as float or double for kernels that know no half types: halves are widened, results rounded
// once.
#pragma once

#include <new>
#include <vector>

#include "call.h"
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

inline constexpr uint32_t kFloats = TNR_MASK_HALF | TNR_MASK_REALS;

inline bool is_half_dtype(tnr_dtype dtype) { return dtype == TNR_F16 || dtype == TNR_BF16; }
inline tnr_dtype wide_dtype(tnr_dtype dtype) { return dtype == TNR_F64 ? TNR_F64 : TNR_F32; }

// An operand; absent (NULL) stays absent. May throw std::bad_alloc.
class WideInput {
  public:
    explicit WideInput(const DLTensor* t) : data_(t ? t->data : nullptr) {
        if (!t || !is_half_dtype(dtype_of(*t))) return;
        wide_.resize(static_cast<size_t>(count_of(*t)));
        tables.cast[dtype_of(*t)][TNR_F32](wide_.data(), t->data, count_of(*t));
        data_ = wide_.data();
    }
    const void* data() const { return data_; }

  private:
    const void* data_;
    std::vector<float> wide_;
};

// A result; `finish` rounds it.
class WideOutput {
  public:
    explicit WideOutput(const DLTensor& t) : t_(t), half_(is_half_dtype(dtype_of(t))) {
        if (half_) wide_.resize(static_cast<size_t>(count_of(t)));
    }
    void* data() { return half_ ? wide_.data() : t_.data; }
    void finish() {
        if (half_) tables.cast[TNR_F32][dtype_of(t_)](t_.data, wide_.data(), count_of(t_));
    }

  private:
    const DLTensor& t_;
    bool half_;
    std::vector<float> wide_;
};

// An int[] attribute as the last n of three numbers; one number stands for all. Missing: `otherwise`.
inline void spatial_attr(const tnr_call* call, int i, int n, const int64_t* otherwise, int64_t* out) {
    const bool given = i < call->n_attr && call->attr[i].kind != TNR_ATTR_NONE;
    const bool span = given && call->attr[i].kind == TNR_ATTR_SPAN;
    for (int d = 0; d < n; ++d) {
        const int64_t* items = span ? call->attr[i].value.span : nullptr;
        out[3 - n + d] = !given  ? otherwise[3 - n + d]
                         : !span ? call->attr[i].value.i64
                                 : items[call->attr[i].count == 1 ? 0 : d];
    }
}

// The last n sizes of a shape.
inline void spatial_size(const DLTensor& t, int n, int64_t* out) {
    for (int d = 0; d < n; ++d) out[3 - n + d] = t.shape[t.ndim - n + d];
}

// A kernel's body, and its status with a text where memory was not there.
inline int32_t told(const tnr_call* call, int32_t status) {
    return status == TNR_OUT_OF_MEMORY ? fail(call, status, "no memory for images and windows in wide form")
                                       : status;
}
template <int32_t (*kBody)(const tnr_call*)>
int32_t run_dense(const tnr_call* call) {
    try {
        return kBody(call);
    } catch (const std::bad_alloc&) {
        return told(call, TNR_OUT_OF_MEMORY);
    }
}

inline constexpr int64_t kOnes[3] = {1, 1, 1}, kZeros[3] = {0, 0, 0};

// Whether windows reach so far that sums of the numbers come near 64 bits.
inline bool reaches_beyond(const Window& w, int64_t limit) {
    for (int d = 0; d < 3; ++d) {
        const __int128 reach = static_cast<__int128>(w.stride[d]) * w.out[d] +
                               static_cast<__int128>(w.dilation[d]) * w.kernel[d] + w.size[d] +
                               2 * w.padding[d];
        if (reach > limit) return true;
    }
    return false;
}

// Where there is one window no stride is taken, however large it is.
inline void skip_stride(Window& w) {
    for (int d = 0; d < 3; ++d) w.stride[d] = w.out[d] == 1 ? 1 : w.stride[d];
}

// The number of elements of the first `dims` dims.
inline int64_t leading_size(const DLTensor& t, int dims) {
    int64_t count = 1;
    for (int d = 0; d < dims; ++d) count *= t.shape[d];
    return count;
}

}  // namespace tenora::cpu::TENORA_ISA
