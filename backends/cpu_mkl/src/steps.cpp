// Optimizer steps for lists of parameters, one pass over the memory of each.
//
//   - The call has the written tensors (parameters, then each
//     kind of state), then the gradients; the outputs are the
//     written tensors. There are as many parameters as gradients.
//   - Half types are computed in float and rounded once.
#include <cmath>

#include "kernels.h"
#include "plan.h"
#include "step_settings.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

// Runs `row` over one parameter: N tensors of one shape, the
// last only read. Absent ones are left out by the caller.
template <int N, class Row>
void each_run(const DLTensor* const (&tensors)[N], Row&& row) {
    const tnr_dtype dtype = dtype_of(*tensors[0]);
    const tnr_dtype wide = dtype == TNR_F64 ? TNR_F64 : TNR_F32;
    const size_t size = kSizes[dtype];
    size_t sizes[N];
    for (size_t& s : sizes) s = size;
    const Plan<N> plan = plan_of<N>(*tensors[0], tensors + 1, sizes);
    bool dense = dtype == wide;
    for (int i = 0; i < N; ++i) dense &= plan.row_stride(i) == static_cast<int64_t>(size) || plan.row() == 1;
    const int64_t n = plan.row(), chunk = dense ? n : kChunk;
    plan.walk([&](char* const* at) -> int32_t {
        alignas(64) char wide_rows[N][kChunk * 8], narrow_row[kChunk * 8];
        for (int64_t i = 0; i < n; i += chunk) {
            const int64_t m = n - i < chunk ? n - i : chunk;
            void* rows[N];
            for (int t = 0; t < N; ++t) {
                rows[t] = at[t] + i * static_cast<int64_t>(size);
                if (dense) continue;
                pack(narrow_row, at[t] + i * plan.row_stride(t), plan.row_stride(t), m, size);
                tables.cast[dtype][wide](wide_rows[t], narrow_row, m);
                rows[t] = wide_rows[t];
            }
            row(wide, rows, m);
            for (int t = 0; !dense && t < N - 1; ++t) {
                tables.cast[wide][dtype](narrow_row, wide_rows[t], m);
                unpack(at[t] + i * plan.row_stride(t), plan.row_stride(t), narrow_row, m, size);
            }
        }
        return TNR_OK;
    });
}

// Runs a step over the list, N tensors a parameter.
template <int N>
int32_t each_parameter(const tnr_call* call, Step step, const void* settings) {
    const int params = call->n_in - call->n_out;
    for (int i = 0; i < params; ++i) {
        const DLTensor* tensors[N];
        for (int t = 0; t < N - 1; ++t) tensors[t] = call->out[t * params + i];
        tensors[N - 1] = call->in[call->n_out + i];
        each_run<N>(tensors, [&](tnr_dtype dtype, void* const* rows, int64_t n) {
            tables.step[static_cast<int>(step)][dtype](rows, n, settings);
        });
    }
    return TNR_OK;
}

// How many states a parameter has in this call.
int states_of(const tnr_call* call) { return call->n_out / (call->n_in - call->n_out) - 1; }

template <class Settings>
int32_t run_step(const tnr_call* call, Step step, const Settings& settings) {
    switch (states_of(call)) {
        case 0:
            return each_parameter<2>(call, step, &settings);
        case 1:
            return each_parameter<3>(call, step, &settings);
        case 2:
            return each_parameter<4>(call, step, &settings);
        default:
            return each_parameter<5>(call, step, &settings);
    }
}

// The attributes of a call, one after the other.
class Attributes {
  public:
    explicit Attributes(const tnr_call* call) : call_(call) {}
    double number() { return number_attr(call_, next_++, 0); }
    bool flag() { return int_attr(call_, next_++, 0) != 0; }

  private:
    const tnr_call* call_;
    int next_ = 0;
};

int32_t run_sgd(const tnr_call* call) {
    Attributes a(call);
    const double lr = a.number(), momentum = a.number(), dampening = a.number(), decay = a.number();
    const bool nesterov = a.flag(), maximize = a.flag(), first = a.flag();
    const SgdSettings s{lr, momentum, dampening, decay, nesterov, maximize, first};
    return run_step(call, states_of(call) ? Step::sgd_momentum : Step::sgd, s);
}

// What all that keep two moments begin with: lr, beta1, beta2, eps, weight_decay, decoupled, maximize.
struct Rates {
    double lr, beta1, beta2;
    MomentSettings moments;
};
Rates read_rates(Attributes& a, bool may_decouple = true) {
    const double lr = a.number(), beta1 = a.number(), beta2 = a.number(), eps = a.number(),
                 decay = a.number();
    const bool decoupled = may_decouple && a.flag(), maximize = a.flag();
    return {lr,
            beta1,
            beta2,
            {beta1, beta2, eps, decoupled ? 0 : decay, decoupled ? 1.0 - lr * decay : 1.0, maximize}};
}

template <Step kStep>
int32_t run_adam(const tnr_call* call) {
    Attributes a(call);
    const Rates r = read_rates(a);
    const double step = a.number();
    const AdamSettings s{r.moments, r.lr / (1.0 - std::pow(r.beta1, step)),
                         1.0 / std::sqrt(1.0 - std::pow(r.beta2, step))};
    return run_step(call, kStep, s);
}

int32_t run_adamax(const tnr_call* call) {
    Attributes a(call);
    const Rates r = read_rates(a, false);
    const AdamaxSettings s{r.moments, r.lr / (1.0 - std::pow(r.beta1, a.number()))};
    return run_step(call, Step::adamax, s);
}

int32_t run_nadam(const tnr_call* call) {
    Attributes a(call);
    const Rates r = read_rates(a);
    const double momentum_decay = a.number(), mu_product = a.number(), step = a.number();
    const auto mu = [&](double at) { return r.beta1 * (1.0 - 0.5 * std::pow(0.96, at * momentum_decay)); };
    const NadamSettings s{r.moments, r.lr * (1.0 - mu(step)) / (1.0 - mu_product),
                          r.lr * mu(step + 1) / (1.0 - mu_product * mu(step + 1)),
                          1.0 / std::sqrt(1.0 - std::pow(r.beta2, step))};
    return run_step(call, Step::nadam, s);
}

int32_t run_radam(const tnr_call* call) {
    Attributes a(call);
    const Rates r = read_rates(a);
    const bool rectified = a.flag();
    const double step = a.number(), power = std::pow(r.beta2, step);
    RadamSettings s{r.moments, r.lr / (1.0 - std::pow(r.beta1, step)), rectified};
    if (rectified) {
        const double most = 2.0 / (1.0 - r.beta2) - 1.0, now = most - 2.0 * step * power / (1.0 - power);
        const double rectification = (now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now);
        s.rate *= std::sqrt(rectification * (1.0 - power));
    }
    return run_step(call, Step::radam, s);
}

template <bool kCentered>
int32_t run_rmsprop(const tnr_call* call) {
    Attributes a(call);
    const double lr = a.number(), alpha = a.number(), eps = a.number(), decay = a.number();
    const double momentum = a.number();
    const RmspropSettings s{lr, alpha, eps, decay, momentum, a.flag()};
    const bool buffer = states_of(call) > 1 + kCentered;
    if (kCentered)
        return run_step(call, buffer ? Step::rmsprop_centered_momentum : Step::rmsprop_centered, s);
    return run_step(call, buffer ? Step::rmsprop_momentum : Step::rmsprop, s);
}

int32_t run_adagrad(const tnr_call* call) {
    Attributes a(call);
    const double lr = a.number(), lr_decay = a.number(), eps = a.number(), decay = a.number();
    const bool maximize = a.flag();
    const AdagradSettings s{lr / (1.0 + (a.number() - 1.0) * lr_decay), eps, decay, maximize};
    return run_step(call, Step::adagrad, s);
}

int32_t run_adadelta(const tnr_call* call) {
    Attributes a(call);
    const double lr = a.number(), rho = a.number(), eps = a.number(), decay = a.number();
    const AdadeltaSettings s{lr, rho, eps, decay, a.flag()};
    return run_step(call, Step::adadelta, s);
}

int32_t run_asgd(const tnr_call* call) {
    Attributes a(call);
    const double lambd = a.number(), decay = a.number();
    const bool maximize = a.flag();
    const double eta = a.number(), mu = a.number();
    const AsgdSettings s{1.0 - lambd * eta, decay, eta, mu, maximize, a.flag()};
    return run_step(call, Step::asgd, s);
}

int32_t run_rprop(const tnr_call* call) {
    Attributes a(call);
    const double eta_minus = a.number(), eta_plus = a.number(), smallest = a.number(), largest = a.number();
    const RpropSettings s{eta_minus, eta_plus, smallest, largest, a.flag()};
    return run_step(call, Step::rprop, s);
}

}  // namespace

void add_steps(Kernels& kernels) {
    const uint32_t mask = TNR_MASK_HALF | TNR_MASK_REALS, flags = kAnyLayout | TNR_KERNEL_INPLACE;
    const auto add = [&](const char* name, auto run) { add_kernel(kernels, name, run, mask, flags); };
    add("sgd_step", run_sgd);
    add("adam_update", run_adam<Step::adam>);
    add("amsgrad_update", run_adam<Step::amsgrad>);
    add("adamax_update", run_adamax);
    add("nadam_update", run_nadam);
    add("radam_update", run_radam);
    add("rmsprop_update", run_rmsprop<false>);
    add("centered_rmsprop_update", run_rmsprop<true>);
    add("adagrad_update", run_adagrad);
    add("adadelta_update", run_adadelta);
    add("asgd_update", run_asgd);
    add("rprop_update", run_rprop);
}

}  // namespace tenora::cpu
