// A backend on the host for tests: plain C kernels over any stride
// and dtype (numbers as double), and the op records they serve.
//   - Flags are chosen per test, so that every fix-up of the engine can
//     be provoked; the kernels check that the engine kept its promises
//     (shapes, dtypes, strides) and answer TNR_ERROR when it did not.
#pragma once

#include <initializer_list>
#include <vector>

#include "tenora/dispatch.h"
#include "tenora/modes.h"

namespace tenora_test {

using tenora::Attr;
using tenora::DType;
using tenora::Operand;
using tenora::Scalar;
using tenora::Tensor;
using tenora::TensorRef;

inline constexpr uint32_t kAllFlags =
    TNR_KERNEL_STRIDED | TNR_KERNEL_NEGATIVE_STRIDES | TNR_KERNEL_STRIDED_OUT | TNR_KERNEL_INPLACE;

// Ops of the engine and a few of every family; once per
// process. Makes `fake` the default backend of the host.
void register_fake_ops();
// A further backend with the same kernels but other flags and dtypes; made default by set_default_backend.
tenora::BackendId fake_backend(const char* name, uint32_t flags, uint32_t dtypes = TNR_MASK_ALL);
// What the last kernel call looked like.
struct Seen {
    const char* kernel;
    bool flat;
    uint64_t host_scalars;
    int n_in;
    int calls;
    uint32_t accumulate;
};
Seen& seen();

TensorRef tensor(std::initializer_list<int64_t> shape, std::vector<double> values, DType dtype = DType::F32);
std::vector<double> values(const Tensor* t);
std::vector<int64_t> shape(const Tensor* t);
TensorRef call_op(const char* name, std::vector<Operand> in, std::vector<Attr> attr = {});
tenora::OpId id(const char* name);
inline Attr ints(const std::vector<int64_t>& v) { return tenora::attr_span(v); }
inline Attr num(double v) { return tenora::attr_scalar(Scalar::from_float(v)); }
inline Attr inum(int64_t v) { return tenora::attr_scalar(Scalar::from_int(v)); }

}  // namespace tenora_test
