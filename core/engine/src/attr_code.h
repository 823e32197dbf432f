// Attribute instructions of a Program, evaluated at replay. Spans they make live in an arena of the replay.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenora/program.h"

namespace tenora {

class SpanArena {
  public:
    int64_t* take(size_t count);

  private:
    static constexpr size_t kInline = 96;
    int64_t inline_[kInline];
    size_t used_ = 0;
    std::vector<std::unique_ptr<int64_t[]>> blocks_;
};

// `tensor`: the tensor argument, if the code has one.
Attr evaluate(AttrCode code, const Tensor* tensor, std::span<const Attr> args, SpanArena& arena,
              std::string_view op);

struct AttrCodeInfo {
    std::string_view name;
    int n_tensors;
    int n_attrs;
};  // n_attrs -1: any number
const AttrCodeInfo& info_of(AttrCode code);

Scalar to_scalar(const Attr& a);  // of a number attribute

}  // namespace tenora
