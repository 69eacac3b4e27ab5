// A loop of damage over a corpus of packs, for where there is no libFuzzer.
// pack_fuzz FOLDER [--seconds N | --runs N] [--seed N]: every file as it is, then random damage to them. Every file of the
// corpus must be a pack that is taken; a crash is the failure. Prints the seed of what it did.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/runtime/pack_fuzz.h"

namespace {

using Bytes = std::vector<unsigned char>;

struct Options {
  std::string folder;
  long seconds = 0, runs = 2000;
  unsigned long seed = 1;
};

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--", 0) != 0) {
      options->folder = arg;
    } else if (i + 1 == argc) {
      return false;
    } else if (arg == "--seconds") {
      options->seconds = std::atol(argv[++i]);
    } else if (arg == "--runs") {
      options->runs = std::atol(argv[++i]);
    } else if (arg == "--seed") {
      options->seed = std::strtoul(argv[++i], nullptr, 10);
    } else {
      return false;
    }
  }
  return !options->folder.empty();
}

bool read_corpus(const std::string& folder, std::vector<Bytes>* corpus) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(folder, error)) paths.push_back(item.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus->emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!kaon::testing::read_and_serve(corpus->back().data(), corpus->back().size())) {
      std::fprintf(stderr, "%s: is not taken for a pack\n", path.c_str());
      return false;
    }
  }
  if (corpus->empty()) std::fprintf(stderr, "%s: no files\n", folder.c_str());
  return !corpus->empty();
}

// One to eight changes: a bit, a byte, a number of 4 or 8 bytes that is often a limit, or a piece of another pack.
void damage(Bytes* bytes, const std::vector<Bytes>& corpus, std::mt19937_64* random) {
  auto below = [&](size_t limit) { return static_cast<size_t>((*random)() % limit); };
  static const uint64_t kLimits[] = {0,
                                     1,
                                     2,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x7fff,
                                     0xffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0xffffffffffffffff};
  for (size_t change = 1 + below(8); change > 0; --change) {
    const size_t at = below(bytes->size());
    const size_t left = bytes->size() - at;
    switch (below(6)) {
      case 0: (*bytes)[at] ^= static_cast<unsigned char>(1u << below(8)); break;
      case 1: (*bytes)[at] = static_cast<unsigned char>(below(256)); break;
      case 2:
      case 3: {
        const uint64_t value = kLimits[below(std::size(kLimits))];
        const size_t width = std::min<size_t>(left, below(2) == 0 ? 4 : 8);
        for (size_t i = 0; i < width; ++i) (*bytes)[at + i] = static_cast<unsigned char>(value >> (8 * i));
        break;
      }
      case 4: {
        const Bytes& other = corpus[below(corpus.size())];
        const size_t from = below(other.size());
        const size_t count = std::min({left, other.size() - from, size_t{1} + below(64)});
        std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count,
                    bytes->begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      default:
        if (below(16) == 0 && left > 1) bytes->resize(bytes->size() - below(left));
        break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) {
    std::fprintf(stderr, "usage: pack_fuzz FOLDER [--seconds N | --runs N] [--seed N]\n");
    return 2;
  }
  std::vector<Bytes> corpus;
  if (!read_corpus(options.folder, &corpus)) return 1;
  std::mt19937_64 random(options.seed);
  const auto start = std::chrono::steady_clock::now();
  auto is_over = [&](long runs) {
    if (options.seconds == 0) return runs >= options.runs;
    return std::chrono::steady_clock::now() - start >= std::chrono::seconds(options.seconds);
  };
  long runs = 0, taken = 0;
  for (; !is_over(runs); ++runs) {
    Bytes bytes = corpus[random() % corpus.size()];
    damage(&bytes, corpus, &random);
    const bool is_taken = kaon::testing::read_and_serve(bytes.data(), bytes.size());
    taken += is_taken ? 1 : 0;
    // What is still a pack is worth more damage.
    if (is_taken && corpus.size() < 4096) corpus.push_back(std::move(bytes));
  }
  std::printf("seed %lu: %ld damaged packs, %ld of them taken, no crash\n", options.seed, runs, taken);
  return taken > 0 ? 0 : 1;
}
