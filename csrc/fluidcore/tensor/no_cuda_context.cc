#include "fluidcore/base/error.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

int num_cuda_devices() {
  return 0;
}

DeviceContext& cuda_context(int index) {
  throw InvalidArgument("cuda: the device must be the cpu in this build, got cuda:", index,
                        "; build with FLUIDCORE_CUDA=ON");
}

}  // namespace fluidcore
