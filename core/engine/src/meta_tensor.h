// A tensor without memory: what a shape-only operand of a
// gradient formula is made of. Lives on the stack of a backward.
#pragma once

#include <memory>

#include "tenora/tape.h"

namespace tenora {

class MetaTensor {
  public:
    MetaTensor() = default;
    MetaTensor(const MetaTensor&) = delete;
    MetaTensor& operator=(const MetaTensor&) = delete;
    Tensor* set(const SavedMeta& m) {
        tensor_.dtype = m.dtype;
        tensor_.device = m.device;
        tensor_.dl.ndim = m.rank;
        tensor_.dl.dtype = info(m.dtype).dl;
        tensor_.dl.device = DLDevice{space(m.device).functions.dlpack_type, m.device.index};
        if (m.rank > kInlineRank) dims_ = std::make_unique<int64_t[]>(2 * size_t(m.rank));
        tensor_.dl.shape = m.rank > kInlineRank ? dims_.get() : tensor_.inline_dims;
        tensor_.dl.strides = tensor_.dl.shape + m.rank;
        tensor_.numel = 1;
        for (int i = m.rank; i-- > 0;) {
            tensor_.dl.shape[i] = m.shape()[i];
            tensor_.dl.strides[i] = tensor_.numel;
            tensor_.numel *= m.shape()[i];
        }
        return &tensor_;
    }

  private:
    Tensor tensor_;
    std::unique_ptr<int64_t[]> dims_;
};

}  // namespace tenora
