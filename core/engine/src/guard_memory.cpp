// Operands between red zones: layout, transfer, comparison. Everything is compared on the host.
#include "guard_memory.h"

#include <algorithm>
#include <cstring>

namespace tenora {

namespace {

constexpr size_t kAlign = 64;
// As much as the operand itself, so that a kernel that takes a wrong stride or size stays inside.
constexpr size_t kLeastZone = 1024, kMostZone = size_t{1} << 20;
constexpr uint8_t kPoison = 0xFF;  // NaN of every floating dtype, no bool
// Around what is written: not what a kernel computes that read poison.
constexpr uint8_t kWrittenZone = 0xFE;

size_t zone_of(int64_t window) {
    return (std::clamp(size_t(window), kLeastZone, kMostZone) + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

int32_t GuardPlace::allocate(size_t bytes, void** data) const {
    return space->functions.alloc(space->functions.state, device, bytes, data, error, error_size);
}

void GuardPlace::release(void* data, size_t bytes) const {
    space->functions.release(space->functions.state, device, data, bytes);
}

int32_t GuardPlace::wait() const {
    const tnr_space& f = space->functions;
    return space->host_order() ? int32_t(TNR_OK)
                               : f.stream_synchronize(f.state, device, stream, error, error_size);
}

int32_t GuardPlace::read(void* host, const void* data, size_t bytes) const {
    const tnr_space& f = space->functions;
    if (!bytes) return TNR_OK;
    if (f.copy_bytes)
        return f.copy_bytes(f.state, host, 0, data, device, bytes, 1, stream, error, error_size);
    if (int32_t status = wait()) return status;
    std::memcpy(host, data, bytes);
    return TNR_OK;
}

int32_t GuardPlace::write(void* data, const void* host, size_t bytes) const {
    const tnr_space& f = space->functions;
    if (!bytes) return TNR_OK;
    if (f.copy_bytes)
        return f.copy_bytes(f.state, data, device, host, 0, bytes, 0, stream, error, error_size);
    if (int32_t status = wait()) return status;
    std::memcpy(data, host, bytes);
    return TNR_OK;
}

GuardedOperand::GuardedOperand(const DLTensor& original, GuardRole role, const GuardPlace& place)
    : original_(original), descriptor_(original), role_(role), place_(place) {
    item_ = size_t(original.dtype.bits) / 8;
    int64_t high = 0, count = 1;
    for (int i = 0; i < original.ndim; ++i) {
        int64_t span = (original.shape[i] - 1) * original.strides[i] * int64_t(item_);
        (span < 0 ? low_ : high) += span;
        count *= original.shape[i];
    }
    if (!count) low_ = 0;
    window_ = count ? high - low_ + int64_t(item_) : 0;
    zone_ = zone_of(window_);
    total_ = 2 * zone_ + size_t(window_) + 2 * kAlign;
}

// A kernel that was launched before something else failed may still be at work; the text of that failure
// stays.
GuardedOperand::~GuardedOperand() {
    if (!memory_) return;
    GuardPlace quiet = place_;
    char text[8];
    quiet.error = text;
    quiet.error_size = sizeof text;
    quiet.wait();
    place_.release(memory_, total_);
}

int32_t GuardedOperand::make() {
    if (int32_t status = place_.allocate(total_, &memory_)) return status;
    auto zone_end = reinterpret_cast<uintptr_t>(memory_) + zone_;
    uintptr_t start = reinterpret_cast<uintptr_t>(original_start());
    before_ = zone_ + (start - zone_end) % kAlign;
    descriptor_.data = static_cast<char*>(memory_) + int64_t(before_) - low_;
    if (role_ == GuardRole::Fresh) return TNR_OK;
    values_.resize(size_t(window_));
    return place_.read(values_.data(), original_start(), size_t(window_));
}

template <class Visit>
void GuardedOperand::each_run(Visit visit) const {
    if (!window_) return;
    int inner = original_.ndim;  // dimensions from here on are dense
    int64_t run = int64_t(item_);
    while (inner > 0 &&
           (original_.strides[inner - 1] * int64_t(item_) == run || original_.shape[inner - 1] == 1))
        run *= original_.shape[--inner];
    std::vector<int64_t> index(size_t(inner), 0);
    int64_t at = -low_;
    for (;;) {
        visit(size_t(at), size_t(run));
        int d = inner - 1;
        for (; d >= 0; --d) {
            int64_t step = original_.strides[d] * int64_t(item_);
            at += step;
            if (++index[size_t(d)] < original_.shape[d]) break;
            at -= step * original_.shape[d];
            index[size_t(d)] = 0;
        }
        if (d < 0) return;
    }
}

int32_t GuardedOperand::lay(uint8_t poison) {
    image_.assign(total_, role_ == GuardRole::Read ? kPoison : kWrittenZone);
    each_run([&](size_t at, size_t bytes) {
        if (role_ == GuardRole::Fresh)
            std::memset(image_.data() + before_ + at, poison, bytes);
        else
            std::memcpy(image_.data() + before_ + at, values_.data() + at, bytes);
    });
    return place_.write(memory_, image_.data(), total_);
}

int32_t GuardedOperand::fetch() {
    after_.resize(total_);
    return place_.read(after_.data(), memory_, total_);
}

int32_t GuardedOperand::hand_over() {
    int32_t status = TNR_OK;
    each_run([&](size_t at, size_t bytes) {
        if (!status) status = place_.write(original_start() + at, after_.data() + before_ + at, bytes);
    });
    return status;
}

int64_t GuardedOperand::first_trespass() const {
    std::vector<uint8_t> allowed = image_;
    if (role_ != GuardRole::Read)
        each_run([&](size_t at, size_t bytes) {
            std::memcpy(allowed.data() + before_ + at, after_.data() + before_ + at, bytes);
        });
    auto [wrong, unused] = std::mismatch(allowed.begin(), allowed.end(), after_.begin());
    return wrong == allowed.end() ? kNone : wrong - allowed.begin() - int64_t(before_);
}

int64_t GuardedOperand::first_untouched(uint8_t poison) const {
    int64_t found = kNone;
    each_run([&](size_t at, size_t bytes) {
        for (size_t i = 0; i < bytes && found == kNone; i += item_) {
            const uint8_t* element = after_.data() + before_ + at + i;
            if (std::all_of(element, element + item_, [&](uint8_t byte) { return byte == poison; }))
                found = int64_t(at + i);
        }
    });
    return found;
}

}  // namespace tenora
