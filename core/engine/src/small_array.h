// An array on the stack for ordinary sizes, on the heap beyond.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tenora {

template <class T, size_t N>
class SmallArray {
  public:
    explicit SmallArray(size_t count) : count_(count) {
        if (count > N) heap_ = std::make_unique<T[]>(count);
        data_ = count > N ? heap_.get() : inline_;
    }
    T& operator[](size_t i) { return data_[i]; }
    T* data() { return data_; }
    size_t size() const { return count_; }
    operator std::span<T>() { return {data_, count_}; }
    operator std::span<const T>() const { return {data_, count_}; }

  private:
    size_t count_;
    T* data_;
    std::unique_ptr<T[]> heap_;
    T inline_[N];
};

}  // namespace tenora
