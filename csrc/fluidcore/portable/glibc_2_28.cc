// Wheels are linked with the C library of the machine that builds them, and run with any from 2.28
// on and with the libstdc++ of GCC 8. What only newer ones have is here, in terms of what the old
// ones have; nothing of it is visible from outside. Part of the module with FLUIDCORE_PORTABLE=ON,
// where the linker takes __wrap_NAME for NAME.

#include <pthread.h>

#include <ctime>
#include <new>
#include <stdexcept>

// The names with versions of 1999 to 2002; names without a version mean the newest one.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
double exp_of_2002(double x);
double log_of_2002(double x);
double pow_of_2002(double x, double y);
double hypot_of_2002(double x, double y);
int pthread_once_of_2002(pthread_once_t* control, void (*init)());
int pthread_rwlock_rdlock_of_2002(pthread_rwlock_t* lock);
int pthread_rwlock_unlock_of_2002(pthread_rwlock_t* lock);
int pthread_rwlock_wrlock_of_2002(pthread_rwlock_t* lock);
char* dlerror_of_2002();
void* dlopen_of_2002(const char* file, int mode);
void* dlsym_of_2002(void* library, const char* name);
__asm__(".symver exp_of_2002, exp@GLIBC_2.2.5");
__asm__(".symver log_of_2002, log@GLIBC_2.2.5");
__asm__(".symver pow_of_2002, pow@GLIBC_2.2.5");
__asm__(".symver hypot_of_2002, hypot@GLIBC_2.2.5");
__asm__(".symver pthread_once_of_2002, pthread_once@GLIBC_2.2.5");
__asm__(".symver pthread_rwlock_rdlock_of_2002, pthread_rwlock_rdlock@GLIBC_2.2.5");
__asm__(".symver pthread_rwlock_unlock_of_2002, pthread_rwlock_unlock@GLIBC_2.2.5");
__asm__(".symver pthread_rwlock_wrlock_of_2002, pthread_rwlock_wrlock@GLIBC_2.2.5");
__asm__(".symver dlerror_of_2002, dlerror@GLIBC_2.2.5");
__asm__(".symver dlopen_of_2002, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym_of_2002, dlsym@GLIBC_2.2.5");

double __wrap_exp(double x) {
  return exp_of_2002(x);
}
double __wrap_log(double x) {
  return log_of_2002(x);
}
double __wrap_pow(double x, double y) {
  return pow_of_2002(x, y);
}
double __wrap_hypot(double x, double y) {
  return hypot_of_2002(x, y);
}
int __wrap_pthread_once(pthread_once_t* control, void (*init)()) {
  return pthread_once_of_2002(control, init);
}
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  return pthread_rwlock_rdlock_of_2002(lock);
}
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  return pthread_rwlock_unlock_of_2002(lock);
}
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  return pthread_rwlock_wrlock_of_2002(lock);
}
char* __wrap_dlerror() {
  return dlerror_of_2002();
}
void* __wrap_dlopen(const char* file, int mode) {
  return dlopen_of_2002(file, mode);
}
void* __wrap_dlsym(void* library, const char* name) {
  return dlsym_of_2002(library, name);
}

// glibc 2.30 waits by any clock; before, a condition variable waits by its own, the calendar's.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition,
                                  pthread_mutex_t* mutex,
                                  clockid_t clock,
                                  const timespec* until) {
  constexpr long kSecond = 1'000'000'000;
  timespec now{};
  timespec end{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += until->tv_sec - now.tv_sec;
  end.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (end.tv_nsec < 0) {
    end.tv_nsec += kSecond;
    --end.tv_sec;
  } else if (end.tv_nsec >= kSecond) {
    end.tv_nsec -= kSecond;
    ++end.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

// A reference to an exception more or less, of which GCC 11 made functions: in a copy of the
// pointer that is never destroyed, and in a pointer that is. With a version the names are those of
// the library; without they would be what the header defines, in terms of the new functions.
void copy_exception_ptr(void* to, const void* from);
void destroy_exception_ptr(void* pointer);
__asm__(".symver copy_exception_ptr, _ZNSt15__exception_ptr13exception_ptrC1ERKS0_@CXXABI_1.3.3");
__asm__(".symver destroy_exception_ptr, _ZNSt15__exception_ptr13exception_ptrD1Ev@CXXABI_1.3.3");

void __wrap__ZNSt15__exception_ptr13exception_ptr9_M_addrefEv(void* pointer) {
  void* copy = nullptr;
  copy_exception_ptr(&copy, pointer);
}
void __wrap__ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void* pointer) {
  destroy_exception_ptr(pointer);
}

// glibc 2.32 tells libstdc++ whether counters of references need atomic operations: they do.
extern const char __libc_single_threaded;
const char __libc_single_threaded = 0;
}
// NOLINTEND(bugprone-reserved-identifier)

namespace std {

// GCC 9 has it; a copy shares the text, so it is as good.
runtime_error::runtime_error(runtime_error&& other) noexcept
    : runtime_error(static_cast<const runtime_error&>(other)) {
}

// GCC 11 tells it from bad_alloc.
void __throw_bad_array_new_length() {  // NOLINT(bugprone-reserved-identifier)
  throw bad_array_new_length();
}

}  // namespace std
