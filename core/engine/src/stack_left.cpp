#include "stack_left.h"

#include <pthread.h>

#include <cstdint>

namespace tenora {

namespace {

// Lowest address of this thread's stack; 0 = not known.
uintptr_t stack_end() {
#if defined(__APPLE__)
    pthread_t self = pthread_self();
    return reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(self)) - pthread_get_stacksize_np(self);
#elif defined(__linux__)
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t size = 0, guard = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    return known ? reinterpret_cast<uintptr_t>(low) + guard : 0;
#else
    return 0;
#endif
}

thread_local constinit uintptr_t end_of_stack = UINTPTR_MAX;  // not asked yet

}  // namespace

size_t stack_left() {
    if (end_of_stack == UINTPTR_MAX) end_of_stack = stack_end();
    auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return end_of_stack == 0 || here < end_of_stack ? SIZE_MAX : here - end_of_stack;
}

}  // namespace tenora
