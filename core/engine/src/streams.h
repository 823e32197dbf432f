// Streams by slot, for the rooms that guard memory.
#pragma once

#include "tenora/stream.h"

namespace tenora {

Stream* stream_in_slot(unsigned slot);  // null when the slot was never given out
void destroy_all_streams();             // at exit

}  // namespace tenora
