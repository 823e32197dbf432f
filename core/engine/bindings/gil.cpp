// The GIL, and wrappers whose last native holder went while nobody had it.
//   - Only this file changes modes().holds_gil on a thread that Python knows.
//   - A wrapper released without the GIL waits in one locked list; it is drained when a thread takes the GIL
//   back and by a
//     pending call, whichever is first.

#include <atomic>
#include <mutex>
#include <vector>

#include "held_releases.h"
#include "python_common.h"
#include "tenora/hooks.h"
#include "tenora/modes.h"

namespace tenora::python {

namespace {

std::mutex queue_lock;             // guards `queue`
std::vector<PyObject*>& queue() {  // never destroyed: threads may outlive static destruction
    static auto* list = new std::vector<PyObject*>();
    return *list;
}
std::atomic<bool> queue_filled{false};
thread_local int held = 0;  // HeldReleases of this thread

int drain_pending(void*) {
    drain_releases();
    return 0;
}

void* release_gil() {
    if (!PyGILState_Check()) return nullptr;
    modes().holds_gil = false;
    return PyEval_SaveThread();
}

void acquire_gil(void* token) {
    if (!token) return;
    call_python([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(token)); });
    modes().holds_gil = true;
    drain_releases();
}

}  // namespace

GilGuard::GilGuard() : taken_(!PyGILState_Check()) {
    if (!taken_) return;
    state_ = call_python([] { return PyGILState_Ensure(); });
    modes().holds_gil = true;
}

GilGuard::~GilGuard() {
    if (!taken_) return;
    drain_releases();
    modes().holds_gil = false;
    PyGILState_Release(state_);
}

GilRelease::GilRelease() : state_(nullptr) {
    if (!PyGILState_Check()) return;
    modes().holds_gil = false;
    state_ = PyEval_SaveThread();
}

GilRelease::~GilRelease() { acquire_gil(state_); }

void queue_release(PyObject* object) {
    {
        std::lock_guard lock(queue_lock);
        queue().push_back(object);
    }
    if (!queue_filled.exchange(true)) Py_AddPendingCall(drain_pending, nullptr);
}

HeldReleases::HeldReleases() { ++held; }

// They go when the GIL is next taken, or with the next pending call.
HeldReleases::~HeldReleases() {
    if (--held == 0 && queue_filled.load(std::memory_order_acquire))
        Py_AddPendingCall(drain_pending, nullptr);
}

void drain_releases() {
    if (held || !queue_filled.load(std::memory_order_acquire)) return;
    std::vector<PyObject*> list;
    {
        std::lock_guard lock(queue_lock);
        list.swap(queue());
        queue_filled.store(false, std::memory_order_release);
    }
    PyObject *type, *value, *traceback;  // a destructor must not disturb an error on its way
    PyErr_Fetch(&type, &value, &traceback);
    for (PyObject* object : list) Py_DECREF(object);
    PyErr_Restore(type, value, traceback);
}

void install_gil_hooks() {
    hooks().release_gil = release_gil;
    hooks().acquire_gil = acquire_gil;
}

}  // namespace tenora::python
