// Wrappers whose last native holder goes meanwhile are released later: for stretches under a lock of the
// allocator, which a tensor that went would ask for again.
#pragma once

namespace tenora::python {

class HeldReleases {
  public:
    HeldReleases();
    ~HeldReleases();
    HeldReleases(const HeldReleases&) = delete;
    HeldReleases& operator=(const HeldReleases&) = delete;
};

}  // namespace tenora::python
