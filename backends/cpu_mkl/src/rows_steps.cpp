// Optimizer steps on contiguous runs: what each method does to one element, and one loop for all of them.
// Sources: Sutskever et al. 2013 (momentum), Kingma and Ba 2015 (Adam, Adamax), Loshchilov and Hutter 2019
// (decoupled decay), Reddi et al. 2018 (largest second moment), Tieleman and Hinton 2012 and Graves 2013
// (RMSprop), Duchi et al. 2011 (Adagrad), Zeiler 2012 (Adadelta), Dozat 2016 (NAdam), Liu et al. 2020
// (RAdam), Polyak and Juditsky 1992 (averaging), Riedmiller and Braun 1993 (Rprop).
#include <cmath>
#include <limits>
#include <utility>

#include "step_settings.h"
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

// The gradient of what is minimised, with the weights' decay; without one an infinite weight makes no NaN.
template <class T>
struct Direction {
    T sign, decay;
    Direction(bool maximize, double weight_decay)
        : sign(maximize ? T(-1) : T(1)), decay(static_cast<T>(weight_decay)) {}
    T operator()(T p, T g) const { return sign * g + decay * (decay != T(0) ? p : T(0)); }
};

// The larger one, NaN if either is.
template <class T>
T larger(T a, T b) {
    return (a > b) | (a != a) ? a : b;
}

// A running mean that only fades, as a dead unit's, would stay at the smallest subnormal for ever, and some
// processors take a hundred cycles for each of those: it ends at zero, which no parameter can tell from it.
template <class T>
T faded(T mean) {
    return std::abs(mean) < std::numeric_limits<T>::min() ? T(0) : mean;
}

template <class T>
struct Sgd {
    using Settings = SgdSettings;
    static constexpr int states = 0;
    Direction<T> direction;
    T lr;
    explicit Sgd(const Settings& s) : direction(s.maximize, s.weight_decay), lr(static_cast<T>(s.lr)) {}
    void operator()(T& p, T g) const { p -= lr * direction(p, g); }
};

template <class T>
struct SgdMomentum {
    using Settings = SgdSettings;
    static constexpr int states = 1;
    Direction<T> direction;
    T lr, keep, take, along;
    bool first, look_ahead;
    // The first step copies the direction: the factors of the general form are then 0 and 1.
    explicit SgdMomentum(const Settings& s)
        : direction(s.maximize, s.weight_decay),
          lr(static_cast<T>(s.lr)),
          keep(s.first ? T(0) : static_cast<T>(s.momentum)),
          take(s.first ? T(1) : static_cast<T>(1.0 - s.dampening)),
          along(s.nesterov ? static_cast<T>(s.momentum) : T(1)),
          first(s.first),
          look_ahead(s.nesterov) {}
    void operator()(T& p, T& buffer, T g) const {
        const T d = direction(p, g), old = first ? T(0) : buffer, next = faded(keep * old + take * d);
        buffer = next;
        p -= lr * ((look_ahead ? d : T(0)) + along * next);
    }
};

// Running means of the direction and of its square.
template <class T>
struct Moments {
    Direction<T> direction;
    T take1, keep2, take2, eps, shrink;
    explicit Moments(const MomentSettings& s)
        : direction(s.maximize, s.weight_decay),
          take1(static_cast<T>(1.0 - s.beta1)),
          keep2(static_cast<T>(s.beta2)),
          take2(static_cast<T>(1.0 - s.beta2)),
          eps(static_cast<T>(s.eps)),
          shrink(static_cast<T>(s.shrink)) {}
    T first(T m, T d) const { return faded(m + (d - m) * take1); }
    T second(T v, T d) const { return v * keep2 + d * d * take2; }
};

template <class T>
struct Adam {
    using Settings = AdamSettings;
    static constexpr int states = 2;
    Moments<T> moments;
    T rate, scale;
    explicit Adam(const Settings& s)
        : moments(s.moments), rate(static_cast<T>(s.rate)), scale(static_cast<T>(s.scale)) {}
    void operator()(T& p, T& m, T& v, T g) const {
        const T d = moments.direction(p, g);
        m = moments.first(m, d);
        v = moments.second(v, d);
        p = p * moments.shrink - m / (std::sqrt(v) * scale + moments.eps) * rate;
    }
};

template <class T>
struct Amsgrad : Adam<T> {
    static constexpr int states = 3;
    using Adam<T>::Adam, Adam<T>::moments;
    void operator()(T& p, T& m, T& v, T& largest, T g) const {
        const T d = moments.direction(p, g);
        m = moments.first(m, d);
        v = moments.second(v, d);
        largest = larger(largest, v);
        p = p * moments.shrink - m / (std::sqrt(largest) * this->scale + moments.eps) * this->rate;
    }
};

template <class T>
struct Adamax {
    using Settings = AdamaxSettings;
    static constexpr int states = 2;
    Moments<T> moments;
    T rate;
    explicit Adamax(const Settings& s) : moments(s.moments), rate(static_cast<T>(s.rate)) {}
    void operator()(T& p, T& m, T& largest, T g) const {
        const T d = moments.direction(p, g);
        m = moments.first(m, d);
        largest = larger(largest * moments.keep2, std::abs(d) + moments.eps);
        p -= m / largest * rate;
    }
};

template <class T>
struct Nadam {
    using Settings = NadamSettings;
    static constexpr int states = 2;
    Moments<T> moments;
    T of_gradient, of_mean, scale;
    explicit Nadam(const Settings& s)
        : moments(s.moments),
          of_gradient(static_cast<T>(s.of_gradient)),
          of_mean(static_cast<T>(s.of_mean)),
          scale(static_cast<T>(s.scale)) {}
    void operator()(T& p, T& m, T& v, T g) const {
        const T d = moments.direction(p, g);
        m = moments.first(m, d);
        v = moments.second(v, d);
        p = p * moments.shrink - (d * of_gradient + m * of_mean) / (std::sqrt(v) * scale + moments.eps);
    }
};

template <class T>
struct Radam {
    using Settings = RadamSettings;
    static constexpr int states = 2;
    Moments<T> moments;
    T rate;
    bool rectified;
    explicit Radam(const Settings& s)
        : moments(s.moments), rate(static_cast<T>(s.rate)), rectified(s.rectified) {}
    void operator()(T& p, T& m, T& v, T g) const {
        const T d = moments.direction(p, g);
        m = moments.first(m, d);
        v = moments.second(v, d);
        p = p * moments.shrink - m / (rectified ? std::sqrt(v) + moments.eps : T(1)) * rate;
    }
};

// Centered: the mean of gradients is the first state after the mean of squares. Momentum: its buffer is the
// last.
template <class T, bool kCentered, bool kMomentum>
struct Rmsprop {
    using Settings = RmspropSettings;
    static constexpr int states = 1 + kCentered + kMomentum;
    Direction<T> direction;
    T lr, keep, take, eps, momentum;
    explicit Rmsprop(const Settings& s)
        : direction(s.maximize, s.weight_decay),
          lr(static_cast<T>(s.lr)),
          keep(static_cast<T>(s.alpha)),
          take(static_cast<T>(1.0 - s.alpha)),
          eps(static_cast<T>(s.eps)),
          momentum(static_cast<T>(s.momentum)) {}
    void operator()(T& p, T& v, T g) const { p -= lr * change(direction(p, g), v); }
    void operator()(T& p, T& v, T& other, T g) const {
        const T d = direction(p, g);
        if constexpr (kCentered) {
            p -= lr * change(d, v, other);
        } else {
            other = momentum * other + change(d, v);
            p -= lr * other;
        }
    }
    void operator()(T& p, T& v, T& mean, T& buffer, T g) const {
        buffer = momentum * buffer + change(direction(p, g), v, mean);
        p -= lr * buffer;
    }
    T change(T d, T& v) const {
        v = v * keep + d * d * take;
        return d / (std::sqrt(v) + eps);
    }
    T change(T d, T& v, T& mean) const {
        v = v * keep + d * d * take;
        mean = mean + (d - mean) * take;
        return d / (std::sqrt(v - mean * mean) + eps);
    }
};
template <class T>
using RmspropPlain = Rmsprop<T, false, false>;
template <class T>
using RmspropMomentum = Rmsprop<T, false, true>;
template <class T>
using RmspropCentered = Rmsprop<T, true, false>;
template <class T>
using RmspropCenteredMomentum = Rmsprop<T, true, true>;

template <class T>
struct Adagrad {
    using Settings = AdagradSettings;
    static constexpr int states = 1;
    Direction<T> direction;
    T rate, eps;
    explicit Adagrad(const Settings& s)
        : direction(s.maximize, s.weight_decay), rate(static_cast<T>(s.rate)), eps(static_cast<T>(s.eps)) {}
    void operator()(T& p, T& sum, T g) const {
        const T d = direction(p, g);
        sum += d * d;
        p -= d / (std::sqrt(sum) + eps) * rate;
    }
};

template <class T>
struct Adadelta {
    using Settings = AdadeltaSettings;
    static constexpr int states = 2;
    Direction<T> direction;
    T lr, keep, take, eps;
    explicit Adadelta(const Settings& s)
        : direction(s.maximize, s.weight_decay),
          lr(static_cast<T>(s.lr)),
          keep(static_cast<T>(s.rho)),
          take(static_cast<T>(1.0 - s.rho)),
          eps(static_cast<T>(s.eps)) {}
    void operator()(T& p, T& v, T& gathered, T g) const {
        const T d = direction(p, g);
        v = v * keep + d * d * take;
        const T change = std::sqrt(gathered + eps) / std::sqrt(v + eps) * d;
        gathered = gathered * keep + change * change * take;
        p -= change * lr;
    }
};

template <class T>
struct Asgd {
    using Settings = AsgdSettings;
    static constexpr int states = 1;
    Direction<T> direction;
    T shrink, eta, mu;
    bool averaging;
    explicit Asgd(const Settings& s)
        : direction(s.maximize, s.weight_decay),
          shrink(static_cast<T>(s.shrink)),
          eta(static_cast<T>(s.eta)),
          mu(static_cast<T>(s.mu)),
          averaging(s.averaging) {}
    void operator()(T& p, T& average, T g) const {
        p = p * shrink - direction(p, g) * eta;
        average = averaging ? average + (p - average) * mu : p;
    }
};

template <class T>
struct Rprop {
    using Settings = RpropSettings;
    static constexpr int states = 2;
    T sign, eta_minus, eta_plus, smallest, largest;
    explicit Rprop(const Settings& s)
        : sign(s.maximize ? T(-1) : T(1)),
          eta_minus(static_cast<T>(s.eta_minus)),
          eta_plus(static_cast<T>(s.eta_plus)),
          smallest(static_cast<T>(s.smallest)),
          largest(static_cast<T>(s.largest)) {}
    void operator()(T& p, T& before, T& size, T g) const {
        const T d = sign * g, agreement = d * before;
        const bool turned = agreement < 0;
        T next = size * (agreement > 0 ? eta_plus : turned ? eta_minus : T(1));
        next = next < smallest ? smallest : next;
        next = next > largest ? largest : next;
        const T used = turned ? T(0) : d;
        size = next;
        before = used;
        // NaN has sign 0: the parameter stays.
        p -= used > 0 ? next : used < 0 ? -next : T(0);
    }
};

template <class T, class F, class... States>
void loop(const F& step, int64_t n, const T* g, T* p, States*... states) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) step(p[i], states[i]..., g[i]);
}

template <class T, template <class> class F>
void run(void* const* rows, int64_t n, const void* settings) {
    const F<T> step(*static_cast<const typename F<T>::Settings*>(settings));
    [&]<size_t... I>(std::index_sequence<I...>) {
        loop(step, n, static_cast<const T*>(rows[F<T>::states + 1]), static_cast<T*>(rows[0]),
             static_cast<T*>(rows[I + 1])...);
    }(std::make_index_sequence<F<T>::states>{});
}

template <template <class> class F>
void fill(Tables& t, Step step) {
    t.step[static_cast<int>(step)][TNR_F32] = run<float, F>;
    t.step[static_cast<int>(step)][TNR_F64] = run<double, F>;
}

}  // namespace

void fill_steps(Tables& t) {
    fill<Sgd>(t, Step::sgd);
    fill<SgdMomentum>(t, Step::sgd_momentum);
    fill<Adam>(t, Step::adam);
    fill<Amsgrad>(t, Step::amsgrad);
    fill<RmspropPlain>(t, Step::rmsprop);
    fill<RmspropMomentum>(t, Step::rmsprop_momentum);
    fill<RmspropCentered>(t, Step::rmsprop_centered);
    fill<RmspropCenteredMomentum>(t, Step::rmsprop_centered_momentum);
    fill<Adagrad>(t, Step::adagrad);
    fill<Adadelta>(t, Step::adadelta);
    fill<Adamax>(t, Step::adamax);
    fill<Nadam>(t, Step::nadam);
    fill<Radam>(t, Step::radam);
    fill<Asgd>(t, Step::asgd);
    fill<Rprop>(t, Step::rprop);
}

}  // namespace tenora::cpu::TENORA_ISA
