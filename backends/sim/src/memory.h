// Device memory that the host may not touch.
//   - Two address ranges of one size: the device's addresses, which are never accessible, and the storage
//     behind them at a constant distance, which kernels reach by `storage`. A plain pointer access of the
//     host therefore faults at any time, also while a kernel runs, and the handler names it on stderr
//     before the fault takes its usual course. Opening and closing one range around kernels would be the
//     same with holes, and costs a walk over its pages.
//   - Addresses are never given out twice: what is kept of freed memory stays invalid.
//   - Fresh memory holds 0xFF in every byte (floating numbers: NaN). A page of red zone lies on each side
//     and, before and behind the bytes asked for, is checked on release and whenever the host waits for
//     the device.
//   - Pinned memory is memory of the host that copies reach as it is; the host may touch it at any time, so
//     only what the device does with it is known here.
//   - Lock: the simulator's; none here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "shadow.h"

namespace tenora::sim {

inline constexpr int kPinned = -1;

struct Allocation {
    int number;  // from 1, in order
    int device;  // or kPinned
    uintptr_t address;
    size_t bytes;
    Shadow shadow;
};

class Memory {
  public:
    Memory();
    Memory(const Memory&) = delete;

    // Null when the address range or the system has no room.
    Allocation* allocate(int device, size_t bytes);
    // False for an address that is not the beginning of a live allocation of a device.
    bool release(uintptr_t address);
    // Null when the system has no room.
    Allocation* pin(size_t bytes);
    // The pinned memory that begins there, else null.
    Allocation* pinned(uintptr_t address);
    void unpin(Allocation& allocation);
    // The live allocation that holds all these bytes, else null.
    Allocation* find(uintptr_t address, size_t bytes);
    size_t used(int device) const;
    // Text about a red zone that was written to, or "". Each is told once.
    std::string check_red_zones();

    char* storage(uintptr_t address) const { return reinterpret_cast<char*>(address + distance_); }
    template <class T>
    T* storage(T* address) const {
        return reinterpret_cast<T*>(storage(reinterpret_cast<uintptr_t>(address)));
    }

  private:
    std::string check(Allocation& allocation);
    uintptr_t begin_ = 0, next_ = 0, end_ = 0, distance_ = 0;
    int count_ = 0;
    std::map<uintptr_t, Allocation> live_;
};

}  // namespace tenora::sim
