// Where a failed backward belongs in the user's program: asked of a room above, once the error is there.
//   - Nothing is kept for it while all goes well: the answer comes from the tape and from what is alive.
#pragma once

#include "tenora/error.h"
#include "tenora/tape.h"

namespace tenora {

using TellMore = void (*)(Error&, Node*);
void set_tell_more(TellMore function);

}  // namespace tenora
