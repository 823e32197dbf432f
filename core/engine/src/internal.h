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

struct PlanName {
    std::string_view name;
    Plan plan;
};
std::span<const Prepare> prepares();
std::span<const PlanName> layout_plans();
std::span<const PlanName> creation_plans();
std::span<const PlanName> adjoint_plans();

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
