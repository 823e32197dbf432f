#include "tenora/error.h"

#include <string_view>
#include <utility>

namespace tenora {

void fail(ErrorKind kind, const char* code, std::string_view op, std::string message) {
    if (!op.empty()) message = std::string("[").append(op).append("] ").append(message);
    throw Error(kind, code, std::string(op), std::move(message));
}

}  // namespace tenora
