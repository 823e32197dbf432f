// What the dispatcher's files share.
#pragma once

#include <mutex>

#include "call.h"
#include "geometry.h"
#include "rules.h"
#include "tenora/dispatch.h"
#include "tenora/modes.h"

namespace tenora {

extern std::mutex registry_mutex;

std::span<const Prepare> prepares();
std::span<const StructuralPlan> layout_plans();
std::span<const StructuralPlan> creation_plans();
std::span<const StructuralPlan> adjoint_plans();

// shortcut_matmul.cpp: products of two matrices
bool multiply_matrices(const Op&, std::span<const Operand>, TensorRef*, Tensor*, BackendId*);
bool multiply_left(const Op&, std::span<const Operand>, TensorRef*, Tensor*, BackendId*);
bool multiply_right(const Op&, std::span<const Operand>, TensorRef*, Tensor*, BackendId*);

// What a backend's status means to a user: kind and code of the error.
struct StatusMeaning {
    ErrorKind kind;
    const char* code;
};
StatusMeaning meaning_of(int32_t status);

void attach_waiting_kernels(Op& op);  // under registry_mutex

OpId need_core(OpId id, const char* name,
               std::string_view user_op);  // throws while tenora_ops is not imported

}  // namespace tenora
