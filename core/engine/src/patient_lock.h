// A lock that a thread waits for without the GIL: whoever holds it may be in a space written in Python, which
// needs the GIL to go on.
#pragma once

#include <mutex>

#include "tenora/hooks.h"

namespace tenora {

class PatientLock {
  public:
    explicit PatientLock(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
        for (int i = 0; i < kTries && !lock_; ++i) static_cast<void>(lock_.try_lock());
        while (!lock_) {
            void* token = hooks().release_gil ? hooks().release_gil() : nullptr;
            if (!token) {  // it was not this thread's
                lock_.lock();
                return;
            }
            lock_.lock();  // not kept while the GIL comes back: its holder may want the lock
            lock_.unlock();
            hooks().acquire_gil(token);
            static_cast<void>(lock_.try_lock());
        }
    }

  private:
    static constexpr int kTries = 200;  // a native holder is gone by then, and the GIL costs more
    std::unique_lock<std::mutex> lock_;
};

}  // namespace tenora
