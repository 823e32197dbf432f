// The memory of guarded kernels: operands between red zones. Policy at the top of guard.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "tenora/space.h"

namespace tenora {

// Where the operands of a call lie, and how bytes come and go: through the space's own functions.
struct GuardPlace {
    const Space* space;
    int32_t device;
    void* stream;
    char* error;
    size_t error_size;

    int32_t allocate(size_t bytes, void** data) const;
    void release(void* data, size_t bytes) const;
    // Ordered by the stream. The host's side must stay until `wait`.
    int32_t read(void* host, const void* data, size_t bytes) const;
    int32_t write(void* data, const void* host, size_t bytes) const;
    int32_t wait() const;  // also carries what a kernel that ran meanwhile has to report
};

enum class GuardRole : uint8_t {
    Read,    // nothing may change
    Fresh,   // every element is to be written
    Updated  // holds values already: written where the kernel wants
};

// One operand in memory of its own: a red zone, the bytes from its first to its last element, a red zone.
//   - Zones, and bytes between the elements of a strided operand, hold poison and must keep it.
//   - The first element keeps its alignment up to 64 bytes, as vector kernels look at it.
class GuardedOperand {
  public:
    GuardedOperand(const DLTensor& original, GuardRole role, const GuardPlace& place);
    ~GuardedOperand();
    GuardedOperand(const GuardedOperand&) = delete;

    int32_t make();               // allocates, and fetches the values unless fresh
    int32_t lay(uint8_t poison);  // writes zones and values, elements of a fresh one as poison
    int32_t fetch();              // what is there after the kernel; complete after `wait`
    int32_t hand_over();          // the elements go to the original; complete after `wait`
    int32_t wait() const { return place_.wait(); }
    const DLTensor* descriptor() const { return &descriptor_; }
    const DLTensor& original() const { return original_; }
    GuardRole role() const { return role_; }

    static constexpr int64_t kNone = INT64_MIN;
    // The first byte that the kernel had no right to change, counted from the first byte of the operand;
    // kNone: none.
    int64_t first_trespass() const;
    // The first element all of whose bytes are still poison, as its byte; kNone: none. Of a fresh operand.
    int64_t first_untouched(uint8_t poison) const;
    int64_t bytes() const { return window_; }  // from the first to the last element
    uint8_t found(int64_t byte) const { return after_[size_t(int64_t(before_) + byte)]; }

  private:
    template <class Visit>
    void each_run(Visit visit) const;  // visit(byte from the first one in memory, bytes)
    char* original_start() const { return static_cast<char*>(original_.data) + low_; }

    const DLTensor original_;
    DLTensor descriptor_;
    const GuardRole role_;
    const GuardPlace place_;
    int64_t low_ = 0;     // of the lowest element, from `data`, in bytes
    int64_t window_ = 0;  // bytes from the lowest element to the end of the highest
    size_t item_ = 1, zone_ = 0, before_ = 0, total_ = 0;
    void* memory_ = nullptr;
    std::vector<uint8_t> values_, image_, after_;
};

}  // namespace tenora
