// What rule files share: attribute access with checks, dimension arithmetic, small constructors of results.
#pragma once

#include "tenora/op.h"
#include "text.h"

namespace tenora {

struct RuleName {
    std::string_view name;
    void (*rule)(Infer&);
};
// One table per file of rules; find_shape_rule looks through all of them.
std::span<const RuleName> dtype_rules();
std::span<const RuleName> basic_shape_rules();
std::span<const RuleName> view_shape_rules();
std::span<const RuleName> matmul_shape_rules();
std::span<const RuleName> index_shape_rules();
std::span<const RuleName> window_shape_rules();

template <class... T>
[[noreturn]] void refuse(const Infer& c, ErrorKind kind, const char* code, const T&... parts) {
    fail(kind, code, c.op.display(), text(parts...));
}

// Attribute i; throw TypeError when the kind is wrong or the attribute is missing.
int64_t int_attr(const Infer& c, size_t i, const char* name);
bool bool_attr(const Infer& c, size_t i, bool fallback);
std::span<const int64_t> span_attr(const Infer& c, size_t i,
                                   const char* name);  // a single int is a span of one
bool has_attr(const Infer& c, size_t i);
DType dtype_attr(const Infer& c);              // the first DTYPE attribute, None when there is none
std::string_view string_attr(const Infer& c);  // the first STRING attribute, "" when there is none

// Tensor operand i; TypeError when it is a number or absent.
Tensor* tensor_in(const Infer& c, size_t i, const char* name);
Tensor* first_tensor(const Infer& c);

// Non-negative dimension; IndexError outside [-rank, rank). rank 0 counts as 1.
int64_t wrap_dim(const Infer& c, int64_t dim, int64_t rank);

int64_t add_checked(const Infer& c, int64_t a, int64_t b);
int64_t mul_checked(const Infer& c, int64_t a, int64_t b);

void set_shape(OutMeta& m, std::span<const int64_t> shape);
void check_shape(const Infer& c, std::span<const int64_t> shape);  // negative sizes, rank > 64, overflow
// Broadcasts `shape` into m; error names both.
void broadcast_into(const Infer& c, OutMeta& m, std::span<const int64_t> shape);
// Replaces attribute i by a span in scratch memory.
int64_t* new_span(Infer& c, size_t i, size_t count);

DType promote_operands(std::span<const Operand> in, size_t first = 0);
DType dtype_of(const Scalar& s);  // as a Python number: bool, i64, default float, its complex

}  // namespace tenora
