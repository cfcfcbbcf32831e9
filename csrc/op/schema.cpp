// The op's schema. Lives in the CPU library, which is always built.
#include "op/schema.h"

#include <torch/csrc/stable/library.h>

#include <string>

STABLE_TORCH_LIBRARY(deepselect, m) {
  using namespace deepselect::op;
  m.def((std::string("topk") + kTopkSignature).c_str());
  m.def((std::string("topk.out") + kTopkOutSignature).c_str());
}
