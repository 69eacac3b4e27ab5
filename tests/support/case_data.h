// What the elements of a tensor are: fresh random values of a named kind.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tests/support/case_file.h"
#include "tests/support/case_tensor.h"

namespace kaon::compiler {

/// Draws every element of `tensor`. `names` are the values that arguments of the generator may use.
/// kInvalidArgument for an unknown generator or a wrong number of arguments.
Status fill_tensor(const Generator& generator, const CaseShape& names, uint64_t seed, CaseTensor* tensor);

/// The generator of a tensor that the cases say nothing about: normal numbers, small integers, fair bits.
Generator default_generator(DType dtype);

/// Puts NaN, infinities, signed zeros and the extremes of the type at seeded places; of integers the extremes.
void plant_specials(uint64_t seed, CaseTensor* tensor);

/// One line a generator, for --help.
const char* generators_help();

}  // namespace kaon::compiler
