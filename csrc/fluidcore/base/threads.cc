#include "fluidcore/base/threads.h"

#include <pthread.h>

namespace fluidcore {

void survive_fork() {
  // Ends the pool of the thread that forks; parent and child start a new one when they need it.
  pthread_atfork([] { omp_pause_resource_all(omp_pause_soft); }, nullptr, nullptr);
}

}  // namespace fluidcore
