// A small op set for tests of Programs and the tape: plain C
// kernels over doubles, gradient Programs written by hand in C++.
//   - Two backends: "plain" on the host, "lazy" on a device of its own that
//     claims not to be host ordered (its memory is host memory and its work
//     is done at once), so that nodes of it run in a worker thread.
//   - The tracer hook builds a Program per op; it counts, so tests can see what was traced.
#pragma once

#include <initializer_list>
#include <vector>

#include "tenora/dispatch.h"
#include "tenora/hooks.h"
#include "tenora/modes.h"
#include "tenora/tape.h"

namespace autograd_test {

using tenora::Tensor;
using tenora::TensorRef;

void set_up();  // once; safe to call again
tenora::Device lazy_device();

struct Launched {  // a kernel of the lazy device
    const char* op;
    void* stream;
};
std::vector<Launched> take_launched();  // since the last call, in order

TensorRef tensor(std::initializer_list<double> values, std::initializer_list<int64_t> shape,
                 bool requires_grad = false, tenora::Device device = {});
TensorRef vec(std::initializer_list<double> values, bool requires_grad = false, tenora::Device device = {});
std::vector<double> values(Tensor* t);  // row-major, whatever the strides
std::vector<double> grad(Tensor* t);    // of `.grad`; empty when there is none

// Recorded calls.
TensorRef call1(const char* op, std::initializer_list<tenora::Operand> in,
                std::initializer_list<tenora::Attr> attr = {});
inline TensorRef add(Tensor* a, Tensor* b) { return call1("add", {a, b}); }
inline TensorRef mul(Tensor* a, Tensor* b) { return call1("mul", {a, b}); }
inline TensorRef scaled(Tensor* a, double k) {
    return call1("mul", {a, tenora::Operand(tenora::Scalar::from_float(k))});
}
inline TensorRef exp(Tensor* a) { return call1("exp", {a}); }
TensorRef power(Tensor* a, double exponent);
TensorRef sum(Tensor* a);
TensorRef row(Tensor* a, int64_t index);  // a[index], a view
TensorRef mm(Tensor* a, Tensor* b);
TensorRef transposed(Tensor* a);  // a view
void inplace(const char* op, Tensor* self, tenora::Operand other);

void backward(Tensor* root, bool retain_graph = false, bool create_graph = false, Tensor* gradient = nullptr);
std::vector<TensorRef> gradients(Tensor* root, std::vector<Tensor*> inputs, bool create_graph = false,
                                 bool allow_unused = false, bool retain_graph = true);

// The counts that must be back where they were when everything is released.
struct Baseline {
    Baseline() : before(tenora::live()) {}
    bool holds() const;
    tenora::Live before;
};

}  // namespace autograd_test
