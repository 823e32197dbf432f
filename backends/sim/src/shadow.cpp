#include "shadow.h"

#include <algorithm>
#include <iterator>

namespace tenora::sim {

void Clock::advance(int stream) {
    if (size_t(stream) >= counts_.size()) counts_.resize(size_t(stream) + 1);
    ++counts_[size_t(stream)];
}

void Clock::join(const Clock& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] = std::max(counts_[i], other.counts_[i]);
}

// Afterwards no cell reaches over `at`.
void Shadow::split(size_t at) {
    auto after = cells_.upper_bound(at);
    if (after == cells_.begin()) return;
    auto cell = std::prev(after);
    if (cell->first == at || cell->second.end <= at) return;
    cells_.emplace_hint(after, at, cell->second);
    cell->second.end = at;
}

Access Shadow::touch(Range range, const Access& now, const Clock& clock, bool write) {
    split(range.begin);
    split(range.end);
    Access conflict;
    auto look = [&](const Access& earlier) {
        if (earlier.op && clock[earlier.stream] < earlier.count) conflict = earlier;
    };
    auto first = cells_.lower_bound(range.begin), last = cells_.lower_bound(range.end);
    for (auto cell = first; cell != last; ++cell) {
        look(cell->second.writer);
        if (write) std::for_each(cell->second.readers.begin(), cell->second.readers.end(), look);
    }
    if (write) {
        cells_.erase(first, last);
        cells_[range.begin] = {range.end, now, {}};
        return conflict;
    }
    size_t at = range.begin;
    for (auto cell = first; cell != last; at = cell->second.end, ++cell) {
        if (at < cell->first) cells_[at] = {cell->first, {}, {now}};
        auto& readers = cell->second.readers;
        std::erase_if(readers, [&](const Access& reader) { return reader.stream == now.stream; });
        readers.push_back(now);
    }
    if (at < range.end) cells_[at] = {range.end, {}, {now}};
    return conflict;
}

}  // namespace tenora::sim
