// Who touched which bytes last, and in which order work is: the check for missing waits.
//   - A clock counts the operations of each stream; component 0 is the host. An operation knows those of
//     its stream, those that the events it waited for knew, and what the host had waited for when it was
//     enqueued.
//   - Operation a of stream s comes before b if and only if b's clock has at least a's count at s. That
//     is fixed when b is enqueued, so a missing wait is found in every run, whatever order the scheduler
//     picks.
//   - Bytes are kept as intervals with one last writer and the last reader of each stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenora::sim {

class Clock {
  public:
    uint64_t operator[](int stream) const {
        return size_t(stream) < counts_.size() ? counts_[size_t(stream)] : 0;
    }
    void advance(int stream);
    void join(const Clock& other);

  private:
    std::vector<uint64_t> counts_;
};

// One operation, as it is remembered and told.
struct Access {
    const char* op = nullptr;
    int stream = 0;
    uint64_t count = 0;
};

struct Range {
    size_t begin, end;
};

class Shadow {
  public:
    // Remembers the access; returns the earlier one that conflicts with it and is not ordered before it.
    Access touch(Range range, const Access& now, const Clock& clock, bool write);

  private:
    struct Cell {
        size_t end;
        Access writer;
        std::vector<Access> readers;
    };
    using Cells = std::map<size_t, Cell>;
    void split(size_t at);
    Cells cells_;  // by begin, without overlap
};

}  // namespace tenora::sim
