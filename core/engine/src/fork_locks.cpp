#include "fork_locks.h"

#include <pthread.h>

#include <algorithm>
#include <vector>

namespace tenora {
namespace {

struct Entry {
    ForkOrder order;
    std::mutex* mutex;
};
struct Table {
    std::mutex mutex;
    std::vector<Entry> entries;
};

Table& table() {
    static Table& immortal = *new Table;
    return immortal;
}

void lock_all(const std::vector<Entry>& entries) {
    for (const Entry& e : entries) e.mutex->lock();
}

void unlock_all(const std::vector<Entry>& entries) {
    for (auto e = entries.rbegin(); e != entries.rend(); ++e) e->mutex->unlock();
}

// The table's own lock comes last, because a lock may be registered while others are held.
void before_fork() {
    Table& t = table();
    for (;;) {
        t.mutex.lock();
        std::vector<Entry> known = t.entries;
        t.mutex.unlock();
        lock_all(known);
        t.mutex.lock();
        if (t.entries.size() == known.size()) return;
        t.mutex.unlock();
        unlock_all(known);
    }
}

void after_fork() {
    Table& t = table();
    t.mutex.unlock();
    unlock_all(t.entries);
}

}  // namespace

void protect_at_fork(std::mutex& mutex, ForkOrder order) {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    if (t.entries.empty()) pthread_atfork(before_fork, after_fork, after_fork);
    auto place = std::upper_bound(t.entries.begin(), t.entries.end(), order,
                                  [](ForkOrder o, const Entry& e) { return o < e.order; });
    t.entries.insert(place, Entry{order, &mutex});
}

}  // namespace tenora
