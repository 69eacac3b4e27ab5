// Loads plugins that each carry a Kaon of their own, with all of their symbols in one table, and calls them in turns.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: copies PLUGIN PLUGIN PACK\n"), 2;
  using Call = const char*(const char* pack, const char* forced);
  Call* calls[2] = {};
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(argv[1 + i], RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    calls[i] = reinterpret_cast<Call*>(dlsym(library, "plugin_call"));
    if (calls[i] == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  }
  const char* const forced[2] = {"3", ""};
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 2; ++i) std::printf("%d: %s\n", i, calls[i](argv[3], forced[i]));
  }
  return 0;
}
