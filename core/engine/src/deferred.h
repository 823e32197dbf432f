// What must not be reused yet: blocks, host buffers and foreign memory that streams may still be working on.
#pragma once

#include <cstdint>

#include "tenora/allocator.h"

namespace tenora {

// Calls `done(what, extra)` once every stream in the mask has
// passed what it was given so far: now, if it has already.
void when_passed(uint64_t streams, void (*done)(void* what, void* extra), void* what, void* extra);
void poll_deferred();    // completes what has been reached; cheap when nothing waits
void finish_deferred();  // waits for everything
size_t deferred_count();
void drop_event_handles();

}  // namespace tenora
