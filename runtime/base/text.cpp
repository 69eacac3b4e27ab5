// How the pieces of a message are written. Built for size: nothing here is on the way of a call that is served.
#include "runtime/base/text.h"

#include <charconv>

namespace kaon {

void TextPiece::append_to(std::string* out) const {
  switch (kind_) {
    case Kind::kChars: out->append(chars_); return;
    case Kind::kString: out->append(*string_); return;
    case Kind::kView: out->append(*view_); return;
    case Kind::kSigned:
    case Kind::kUnsigned: break;
  }
  char digits[24];
  char* const end = digits + sizeof digits;
  const std::to_chars_result written = kind_ == Kind::kSigned
                                           ? std::to_chars(digits, end, static_cast<int64_t>(number_))
                                           : std::to_chars(digits, end, number_);
  out->append(digits, static_cast<size_t>(written.ptr - digits));
}

void detail::append_pieces(std::string* out, const TextPiece* pieces, size_t count) {
  for (size_t i = 0; i < count; ++i) pieces[i].append_to(out);
}

std::string detail::join_pieces(const TextPiece* pieces, size_t count) {
  std::string text;
  append_pieces(&text, pieces, count);
  return text;
}

Status detail::status_of_pieces(Code code, const TextPiece* pieces, size_t count) {
  return {code, join_pieces(pieces, count)};
}

}  // namespace kaon
