#include "memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>

namespace tenora::sim {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kFresh = 0xFF, kRed = 0xA5;

size_t rounded(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The fault handler's view: set once, before the handler is installed.
uintptr_t device_begin, storage_begin, range_bytes;
struct sigaction previous;

// Only calls that a signal handler may make; then the instruction is tried again under the previous
// handler.
void on_fault(int signal, siginfo_t* info, void*) {
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    const char* what = nullptr;
    if (address - device_begin < range_bytes)
        what =
            "the host touched device memory: got a plain access to a pointer of device type sim, expected a "
            "copy. "
            "Copy to the host first, or let a kernel do it.";
    else if (address - storage_begin < range_bytes)
        what =
            "a kernel left its memory: got an access outside of all live allocations, expected one inside "
            "its "
            "operands. Correct the kernel.";
    if (what) {
        char text[320];
        const int length =
            std::snprintf(text, sizeof text, "[sim] %s Address 0x%zx.\n", what, size_t(address));
        if (write(2, text, size_t(length)) < 0) what = nullptr;  // nowhere to tell it
    }
    sigaction(signal, &previous, nullptr);
}

void install_handler() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous);
}

}  // namespace

// As much as the system lets a process reserve, up to 1 TiB: nothing is used of it yet.
Memory::Memory() {
    for (size_t bytes = size_t{1} << 40; bytes >= size_t{1} << 30; bytes /= 2) {
        void* both = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (both == MAP_FAILED) continue;
        begin_ = next_ = reinterpret_cast<uintptr_t>(both);
        end_ = begin_ + bytes;
        distance_ = bytes;
        device_begin = begin_;
        storage_begin = end_;
        range_bytes = bytes;
        install_handler();
        return;
    }
    throw std::bad_alloc();
}

Allocation* Memory::allocate(int device, size_t bytes) {
    const size_t whole = rounded(bytes);
    if (whole < bytes || whole + 2 * kPage > end_ - next_) return nullptr;
    const uintptr_t address = next_ + kPage;
    char* data = storage(address);
    if (mprotect(data - kPage, whole + 2 * kPage, PROT_READ | PROT_WRITE) != 0) return nullptr;
    std::memset(data - kPage, kRed, kPage);
    std::memset(data, kFresh, bytes);
    std::memset(data + bytes, kRed, whole + kPage - bytes);
    next_ = address + whole + kPage;
    return &live_.emplace(address, Allocation{++count_, device, address, bytes, {}}).first->second;
}

bool Memory::release(uintptr_t address) {
    auto found = live_.find(address);
    if (found == live_.end() || found->second.device == kPinned) return false;
    char* begin = storage(address) - kPage;
    const size_t whole = rounded(found->second.bytes) + 2 * kPage;
    // Pages that are mapped anew are given back to the system and belong to nobody.
    mmap(begin, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    live_.erase(found);
    return true;
}

Allocation* Memory::pin(size_t bytes) {
    const size_t whole = rounded(bytes);
    void* data = whole < bytes
                     ? MAP_FAILED
                     : mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    std::memset(data, kFresh, whole);
    const auto address = reinterpret_cast<uintptr_t>(data);
    return &live_.emplace(address, Allocation{++count_, kPinned, address, bytes, {}}).first->second;
}

Allocation* Memory::pinned(uintptr_t address) {
    auto found = live_.find(address);
    return found != live_.end() && found->second.device == kPinned ? &found->second : nullptr;
}

void Memory::unpin(Allocation& allocation) {
    munmap(reinterpret_cast<void*>(allocation.address), rounded(allocation.bytes));
    live_.erase(allocation.address);
}

Allocation* Memory::find(uintptr_t address, size_t bytes) {
    auto after = live_.upper_bound(address);
    if (after == live_.begin()) return nullptr;
    Allocation& a = std::prev(after)->second;
    return address + bytes <= a.address + a.bytes ? &a : nullptr;
}

size_t Memory::used(int device) const {
    size_t bytes = 0;
    for (const auto& [address, allocation] : live_)
        if (allocation.device == device) bytes += allocation.bytes;
    return bytes;
}

std::string Memory::check(Allocation& a) {
    auto clean = [](char* begin, char* end) {
        auto* wrong = std::find_if(begin, end, [](char c) { return static_cast<unsigned char>(c) != kRed; });
        std::memset(wrong, kRed, size_t(end - wrong));
        return wrong == end ? nullptr : wrong;
    };
    char* data = storage(a.address);
    char* before = clean(data - kPage, data);
    char* behind = clean(data + a.bytes, data + rounded(a.bytes) + kPage);
    if (!before && !behind) return "";
    char* wrong = before ? before : behind;
    return "a kernel wrote outside of its memory: got a write " +
           std::to_string(before ? data - wrong : wrong - data - ptrdiff_t(a.bytes)) + " bytes " +
           (before ? "before" : "behind") + " allocation " + std::to_string(a.number) + " of " +
           std::to_string(a.bytes) + " bytes on sim:" + std::to_string(a.device) +
           ", expected writes into its outputs only. Correct the kernel.";
}

std::string Memory::check_red_zones() {
    std::string text;
    for (auto& [address, allocation] : live_) {
        if (allocation.device == kPinned) continue;
        std::string found = check(allocation);
        if (text.empty()) text = found;
    }
    return text;
}

}  // namespace tenora::sim
