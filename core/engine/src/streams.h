// Streams by slot, for the rooms that guard memory.
#pragma once

#include "tenora/stream.h"

namespace tenora {

Stream* stream_in_slot(unsigned slot);  // null when the slot was never given out
void destroy_all_streams();             // at exit

// A stream that is current until the end of a scope; null changes nothing.
class StreamScope {
  public:
    explicit StreamScope(Stream* stream);
    ~StreamScope();
    StreamScope(const StreamScope&) = delete;

  private:
    Stream* stream_;
    StreamRef before_;
    uint8_t index_ = 0;
};

}  // namespace tenora
