#pragma once

#include <memory>

#include "fluidcore/op/communicator.h"
#include "fluidcore/tensor/device_collectives.h"
#include "fluidcore/tensor/device_context.h"

namespace fluidcore {

// A Communicator of the ranks of `host` for memory of `device`, to be made by all of them together.
// `library`, null where this rank has none, does the work if all ranks have one and no two of them
// one device; else it goes through the memory of the host. `host` and `device` outlive it.
std::unique_ptr<Communicator> device_communicator(Communicator& host,
                                                  DeviceContext& device,
                                                  CollectiveLibrary* library);

}  // namespace fluidcore
