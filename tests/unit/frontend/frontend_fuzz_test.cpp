// Whatever the text, the front end answers with a program or with errors, and never with an internal one.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/frontend/sources.h"

namespace kaon::compiler {
namespace {

const char* const kSources[] = {kSoftmax, kRope, kColumnSum};

/// True when the text is a program.
bool answers_with_program(const std::string& text) {
  std::string messages;
  const std::unique_ptr<Program> program = compile_text(text, &messages);
  EXPECT_EQ(program == nullptr, messages.find(": error: ") != std::string::npos) << text << messages;
  EXPECT_EQ(messages.find("internal"), std::string::npos) << text << messages;
  if (program == nullptr) return false;
  for (const KernelInfo& info : program->kernels()) {
    Result<Kernel> kernel = program->instantiate(info.name, info.bindings[0]);
    EXPECT_TRUE(kernel) << text << kernel.status().to_string();
    if (!kernel) continue;
    const Status valid = verify(*kernel);
    EXPECT_TRUE(valid) << text << valid.to_string();
  }
  return true;
}

TEST(FrontendFuzz, SurvivesEditedBytes) {
  const std::string alphabet = "abMNxT019.,:;()[]{}+-*/%&|^~<>=!\"# \n\x80";
  int programs = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::string text = kSources[seed % std::size(kSources)];
    const int edits = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < edits; ++i) {
      const size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 4) {
        case 0: text[at] = c; break;
        case 1: text.insert(at, 1, c); break;
        case 2: text.erase(at, 1 + random() % 8); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
      }
    }
    SCOPED_TRACE(seed);
    programs += answers_with_program(text) ? 1 : 0;
  }
  EXPECT_GT(programs, 30);  // else the checks behind the parser see too little
}

// Swapping whole words keeps the text parseable more often, so that the checks behind the parser see it.
TEST(FrontendFuzz, SurvivesExchangedWords) {
  const char* const words[] = {"x",
                               "m",
                               "n",
                               "row",
                               "e",
                               "v",
                               "acc",
                               "M",
                               "N",
                               "H",
                               "T",
                               "f32",
                               "i64",
                               "bool",
                               "f16",
                               "0",
                               "1",
                               "-1",
                               "2.5",
                               "sum",
                               "amax",
                               "mean",
                               "exp",
                               "where",
                               "zeros",
                               "arange",
                               "tile",
                               "m.index",
                               "m.begin",
                               "x[m, :]",
                               ":",
                               "None",
                               "+",
                               "and",
                               "not",
                               "==",
                               "<",
                               "/",
                               "%",
                               "dim=0",
                               "keepdim=true",
                               "let",
                               "var",
                               "for",
                               "true"};
  int programs = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed + 77);
    std::string text = kSources[seed % std::size(kSources)];
    const size_t body = text.rfind("kernel");
    for (uint32_t i = 0; i <= random() % 2; ++i) {
      auto is_word = [&](size_t at) {
        return std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_';
      };
      size_t begin = body + random() % (text.size() - body);
      while (begin + 1 < text.size() && !is_word(begin)) ++begin;
      while (begin > 0 && is_word(begin - 1)) --begin;
      size_t end = begin;
      while (end < text.size() && is_word(end)) ++end;
      text.replace(begin, end - begin, words[random() % std::size(words)]);
    }
    SCOPED_TRACE(seed);
    programs += answers_with_program(text) ? 1 : 0;
  }
  EXPECT_GT(programs, 30);  // else the checks behind the parser see too little
}

TEST(FrontendFuzz, SurvivesEveryPrefix) {
  for (const char* source : kSources) {
    const std::string text = source;
    for (size_t length = 0; length < text.size(); ++length) {
      SCOPED_TRACE(length);
      answers_with_program(text.substr(0, length));
    }
  }
}

}  // namespace
}  // namespace kaon::compiler
