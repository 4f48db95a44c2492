#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "fluidcore/op/communicator.h"

namespace fluidcore {

// Communicators of the threads of one process, the one of rank i at i: each is for one thread at a
// time. Sums are made in the order of the ranks, so that they have the same bits in every run. A
// rank that waits longer than `timeout` gives the others up: they all fail.
//
// Throws InvalidArgument unless size is at least 1.
std::vector<std::shared_ptr<Communicator>> thread_group(
    int size, std::chrono::duration<double> timeout = std::chrono::seconds(60));

}  // namespace fluidcore
