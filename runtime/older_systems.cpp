// Part of the shared libraries alone: built on a newer system, they ask for no more than glibc 2.28 and the libstdc++ of GCC
// 8 have. The definitions here, which the libraries do not export, stand before the system's newer ones.
#if defined(__x86_64__) && defined(__linux__)
#include <new>

// Not from their headers, whose declarations differ from system to system.
#define KAON_OLDEST(name) __asm__(".symver oldest_" #name "," #name "@GLIBC_2.2.5")

extern "C" {

KAON_OLDEST(dlerror);
char* oldest_dlerror();
char* dlerror() { return oldest_dlerror(); }

KAON_OLDEST(dlopen);
void* oldest_dlopen(const char* path, int mode);
void* dlopen(const char* path, int mode) { return oldest_dlopen(path, mode); }

KAON_OLDEST(dlsym);
void* oldest_dlsym(void* library, const char* name);
void* dlsym(void* library, const char* name) { return oldest_dlsym(library, name); }

KAON_OLDEST(pthread_key_create);
int oldest_pthread_key_create(unsigned* key, void (*destroy)(void*));
int pthread_key_create(unsigned* key, void (*destroy)(void*)) { return oldest_pthread_key_create(key, destroy); }

KAON_OLDEST(pthread_once);
int oldest_pthread_once(int* once, void (*function)());
int pthread_once(int* once, void (*function)()) { return oldest_pthread_once(once, function); }

KAON_OLDEST(pthread_setspecific);
int oldest_pthread_setspecific(unsigned key, const void* value);
int pthread_setspecific(unsigned key, const void* value) { return oldest_pthread_setspecific(key, value); }

// What a shared_ptr asks before it counts without atomic instructions: never.
char __libc_single_threaded = 0;
}

namespace std {
void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std
#endif
