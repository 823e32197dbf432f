// `count` objects on the stack for ordinary counts, on the
// heap beyond; unlike an array, only those asked for are made.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace tenora {

template <class T, size_t N>
class Values {
  public:
    explicit Values(size_t count) : count_(count) {
        data_ = reinterpret_cast<T*>(inline_);
        if (count > N) [[unlikely]]
            data_ = static_cast<T*>(::operator new(count * sizeof(T)));
        for (size_t i = 0; i < count; ++i) {
            new (data_ + i) T();
            __asm__ volatile("" ::: "memory");  // a few stores, not a call of memset
        }
    }
    ~Values() {
        std::destroy_n(data_, count_);
        if (count_ > N) [[unlikely]]
            ::operator delete(data_);
    }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;
    T& operator[](size_t i) { return data_[i]; }
    T* data() { return data_; }
    size_t size() const { return count_; }
    std::span<T> span() { return {data_, count_}; }

  private:
    size_t count_;
    T* data_;
    alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace tenora
