// Optimizer steps on contiguous runs. Sources: Sutskever et al. 2013 (momentum), Kingma and Ba 2015 (Adam),
// Loshchilov and Hutter 2019 (decoupled decay), Reddi et al. 2018 (largest second moment).
#include <cmath>

#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

template <class T>
void sgd(void* param, void* buffer, const void* grad, int64_t n, const SgdSettings& s) {
    T *p = static_cast<T*>(param), *b = static_cast<T*>(buffer);
    const T* g = static_cast<const T*>(grad);
    const T sign = s.maximize ? T(-1) : T(1), decay = static_cast<T>(s.weight_decay),
            lr = static_cast<T>(s.lr);
    const T momentum = static_cast<T>(s.momentum), fresh = static_cast<T>(1.0 - s.dampening);
    if (!b) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) p[i] -= lr * (sign * g[i] + decay * p[i]);
        return;
    }
    // The first step copies the direction: both factors of the general form are then 0 and 1.
    const T keep = s.first ? T(0) : momentum, take = s.first ? T(1) : fresh;
    const T look_ahead = s.nesterov ? T(1) : T(0), along = s.nesterov ? momentum : T(1);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        const T direction = sign * g[i] + decay * p[i];
        const T old = s.first ? T(0) : b[i];
        const T next = keep * old + take * direction;
        b[i] = next;
        p[i] -= lr * (look_ahead * direction + along * next);
    }
}

template <class T, bool kLargest>
void adam_run(T* p, T* m, T* v, T* largest, const T* g, int64_t n, const AdamSettings& s) {
    const T sign = s.maximize ? T(-1) : T(1);
    const T decay = static_cast<T>(s.decoupled ? 0.0 : s.weight_decay);
    const T shrink = static_cast<T>(s.decoupled ? 1.0 - s.lr * s.weight_decay : 1.0);
    const T take_1 = static_cast<T>(1.0 - s.beta_1), keep_2 = static_cast<T>(s.beta_2),
            take_2 = static_cast<T>(1.0 - s.beta_2);
    const T eps = static_cast<T>(s.eps), step_size = static_cast<T>(s.step_size),
            scale = static_cast<T>(s.root_scale);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        const T direction = sign * g[i] + decay * p[i];
        const T first = m[i] + (direction - m[i]) * take_1;
        T second = v[i] * keep_2 + direction * direction * take_2;
        m[i] = first;
        v[i] = second;
        if constexpr (kLargest) {
            second = second > largest[i] ? second : largest[i];
            largest[i] = second;
        }
        p[i] = p[i] * shrink - first / (std::sqrt(second) * scale + eps) * step_size;
    }
}

template <class T>
void adam(void* param, void* first, void* second, void* largest, const void* grad, int64_t n,
          const AdamSettings& s) {
    T *p = static_cast<T*>(param), *m = static_cast<T*>(first), *v = static_cast<T*>(second);
    const T* g = static_cast<const T*>(grad);
    if (largest)
        adam_run<T, true>(p, m, v, static_cast<T*>(largest), g, n, s);
    else
        adam_run<T, false>(p, m, v, nullptr, g, n, s);
}

}  // namespace

void fill_steps(Tables& t) {
    t.step[TNR_F32] = {sgd<float>, adam<float>};
    t.step[TNR_F64] = {sgd<double>, adam<double>};
}

}  // namespace tenora::cpu::TENORA_ISA
