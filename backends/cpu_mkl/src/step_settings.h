// What the steps of optimizers read beside tensors: worked out once a call by the driver, used by the rows.
//
//   - Names are those of the ops' attributes; what is worked out from them says how.
//   - No inline function stands here: this header is seen by every instruction set.
#pragma once

namespace tenora::cpu {

struct SgdSettings {
    double lr, momentum, dampening, weight_decay;
    bool nesterov, maximize, first;
};

// Of all that keep two moments. `shrink` is the decoupled decay of the parameter, 1 for none; `weight_decay`
// then is 0.
struct MomentSettings {
    double beta1, beta2, eps, weight_decay, shrink;
    bool maximize;
};

// rate = lr / (1 - beta1^step), scale = 1 / sqrt(1 - beta2^step)
struct AdamSettings {
    MomentSettings moments;
    double rate, scale;
};

// of_gradient = lr (1 - mu) / (1 - mu_product), of_mean = lr mu' / (1 - mu_product mu'), mu' being the next
// step's
struct NadamSettings {
    MomentSettings moments;
    double of_gradient, of_mean, scale;
};

// rate = lr / (1 - beta1^step), times the rectification and sqrt(1 - beta2^step) if rectified
struct RadamSettings {
    MomentSettings moments;
    double rate;
    bool rectified;
};

struct AdamaxSettings {
    MomentSettings moments;
    double rate;
};

struct RmspropSettings {
    double lr, alpha, eps, weight_decay, momentum;
    bool maximize;
};

// rate = lr / (1 + (step - 1) lr_decay)
struct AdagradSettings {
    double rate, eps, weight_decay;
    bool maximize;
};

struct AdadeltaSettings {
    double lr, rho, eps, weight_decay;
    bool maximize;
};

// shrink = 1 - lambd eta
struct AsgdSettings {
    double shrink, weight_decay, eta, mu;
    bool maximize, averaging;
};

struct RpropSettings {
    double eta_minus, eta_plus, smallest, largest;
    bool maximize;
};

}  // namespace tenora::cpu
