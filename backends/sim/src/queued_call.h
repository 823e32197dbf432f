// A copy of a call that outlives it, and the bytes that its tensors cover.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "memory.h"
#include "tenora_backend.h"

namespace tenora::sim {

// Descriptors, attributes and numbers by value live only while the engine's call does; all are copied. In
// the copy data pointers lead to the storage that kernels may touch.
class QueuedCall {
  public:
    QueuedCall(const tnr_call& call, const Memory& memory);
    QueuedCall(const QueuedCall&) = delete;
    int32_t run(tnr_kernel_fn kernel, char* error, size_t error_size);

  private:
    const DLTensor* keep(const DLTensor* tensor, bool host_scalar, const Memory& memory);
    void keep(const tnr_attr& attr);

    tnr_call call_;
    std::deque<DLTensor> tensors_;  // a deque's elements stay where they are
    std::deque<std::vector<int64_t>> numbers_;
    std::deque<std::array<char, 16>> scalars_;
    std::deque<std::string> texts_;
    std::vector<const DLTensor*> in_, out_;
    std::vector<tnr_attr> attributes_;
};

// The bytes that a tensor's elements cover, as ranges of addresses: rows are joined where they touch. Of
// a tensor in very many pieces the whole extent is taken, which may report interleaved views that share
// no byte.
std::vector<Range> footprint(const DLTensor& tensor);

}  // namespace tenora::sim
