#include "fluidcore/op/communicator.h"

#include "fluidcore/op/device_communicator.h"
#include "fluidcore/tensor/device_collectives.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

Communicator& Communicator::on(const DeviceContext& device) {
  const Device where = device.device();
  if (where.is_cpu()) return *this;
  std::unique_ptr<Communicator>& made = on_devices_[where.index];
  if (!made) made = device_communicator(*this, device_context(where), collective_library());
  return *made;
}

}  // namespace fluidcore
