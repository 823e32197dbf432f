// Shapes and strides without tensors.
#include <string>

#include "tenora/error.h"
#include "tenora/tensor.h"

namespace tenora {
namespace {

std::string list(std::span<const int64_t> values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) {
        if (i) text += ", ";
        text += std::to_string(values[i]);
    }
    return text + "]";
}

}  // namespace

int64_t checked_numel(std::span<const int64_t> shape, std::string_view op) {
    if (shape.size() > size_t(kMaxRank)) {
        fail(ErrorKind::Runtime, "shape", op,
             "too many dimensions: got " + std::to_string(shape.size()) + ", expected at most " +
                 std::to_string(kMaxRank) + ". Merge some of them.");
    }
    int64_t numel = 1;
    bool overflow = false, empty = false;
    for (int64_t size : shape) {
        if (size < 0) {
            fail(ErrorKind::Runtime, "shape", op,
                 "negative dimension: got shape " + list(shape) +
                     ", expected sizes of at least 0. Correct the shape.");
        }
        if (size == 0)
            empty = true;
        else
            overflow |= __builtin_mul_overflow(numel, size, &numel);
    }
    if (empty) return 0;
    if (overflow) {
        fail(ErrorKind::Runtime, "shape", op,
             "the number of elements overflows: got shape " + list(shape) +
                 ", expected fewer than 2^63 elements. Use a smaller "
                 "shape.");
    }
    return numel;
}

void dense_strides(std::span<const int64_t> shape, int64_t* strides) {
    uint64_t step = 1;  // unsigned: an empty shape may have a product beyond 2^63, and nobody uses it
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = int64_t(step);
        if (shape[i] > 1) step *= uint64_t(shape[i]);
    }
}

bool is_dense(std::span<const int64_t> shape, std::span<const int64_t> strides) {
    uint64_t step = 1;
    bool dense = true;
    for (size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 0) return true;
        if (shape[i] == 1) continue;
        dense &= strides[i] == int64_t(step);
        step *= uint64_t(shape[i]);
    }
    return dense;
}

std::string describe(const Tensor* t) {
    if (!t) return "None";
    return std::string(info(t->dtype).name) + list(t->shape());
}

}  // namespace tenora
