// How messages are put together: pieces of text and numbers handed to one function, which costs a caller little code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/base/status.h"

namespace kaon {

/// One piece of a message. Refers to what it was made from.
class TextPiece {
 public:
  TextPiece(const char* text) : kind_(Kind::kChars), chars_(text) {}
  TextPiece(const std::string& text) : kind_(Kind::kString), string_(&text) {}
  TextPiece(const std::string_view& text) : kind_(Kind::kView), view_(&text) {}
  template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
  TextPiece(Integer value)
      : kind_(std::is_signed_v<Integer> ? Kind::kSigned : Kind::kUnsigned), number_(static_cast<uint64_t>(value)) {}
  TextPiece(bool) = delete;
  TextPiece(char) = delete;

  /// Writes it at the end of `out`.
  void append_to(std::string* out) const;

 private:
  enum class Kind : uint8_t { kChars, kString, kView, kSigned, kUnsigned };
  Kind kind_;
  union {
    const char* chars_;
    const std::string* string_;
    const std::string_view* view_;
    uint64_t number_;
  };
};

namespace detail {
void append_pieces(std::string* out, const TextPiece* pieces, size_t count);
std::string join_pieces(const TextPiece* pieces, size_t count);
Status status_of_pieces(Code code, const TextPiece* pieces, size_t count);
}  // namespace detail

/// All pieces, one behind the other: cat("needs ", 3, " tensors of ", name).
template <typename... Pieces>
std::string cat(const Pieces&... pieces) {
  const TextPiece all[] = {pieces...};
  return detail::join_pieces(all, sizeof...(pieces));
}

/// The same, at the end of `out`, of which no piece may be a part.
template <typename... Pieces>
void append_to(std::string* out, const Pieces&... pieces) {
  const TextPiece all[] = {pieces...};
  detail::append_pieces(out, all, sizeof...(pieces));
}

/// A Status whose message is all pieces, one behind the other.
template <typename... Pieces>
Status make_status(Code code, const Pieces&... pieces) {
  const TextPiece all[] = {pieces...};
  return detail::status_of_pieces(code, all, sizeof...(pieces));
}

}  // namespace kaon
