// The table of what the binding pushed in.

#include "tenora/hooks.h"

namespace tenora {

EngineHooks& hooks() {
    static EngineHooks table;
    return table;
}

}  // namespace tenora
