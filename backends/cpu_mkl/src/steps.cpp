#include "kernels.h"
namespace tenora::cpu {
void add_steps(Kernels&) {}
} // namespace tenora::cpu
