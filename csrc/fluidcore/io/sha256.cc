#include "fluidcore/io/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fluidcore {

namespace {

constexpr std::size_t kBlock = 64;  // bytes
constexpr std::size_t kRounds = 64;
using State = std::array<std::uint32_t, 8>;

// The first 32 bits of the fraction of `root` of prime number i (FIPS 180-4, 4.2.2 and 5.3.3).
template <std::size_t count, class Root>
std::array<std::uint32_t, count> fractions(Root root) {
  std::array<std::uint32_t, count> bits{};
  std::uint32_t number = 2;
  for (std::uint32_t& word : bits) {
    const auto is_prime = [](std::uint32_t n) {
      for (std::uint32_t d = 2; d * d <= n; ++d) {
        if (n % d == 0) return false;
      }
      return true;
    };
    while (!is_prime(number)) ++number;
    const long double value = root(static_cast<long double>(number++));
    word = static_cast<std::uint32_t>((value - std::floor(value)) * 4294967296.0L);
  }
  return bits;
}

const std::array<std::uint32_t, kRounds>& constants() {
  static const auto kConstants = fractions<kRounds>([](long double x) { return std::cbrt(x); });
  return kConstants;
}

std::uint32_t word_at(const char* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8U | static_cast<std::uint8_t>(bytes[i]);
  return word;
}

void add_block(State& state, const char* bytes) {
  std::array<std::uint32_t, kRounds> w{};
  for (std::size_t i = 0; i < 16; ++i) w[i] = word_at(bytes + 4 * i);
  for (std::size_t i = 16; i < kRounds; ++i) {
    const std::uint32_t a = w[i - 15];
    const std::uint32_t b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::uint32_t mixed = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + constants()[i] + w[i];
    const std::uint32_t more =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + mixed;
    d = c;
    c = b;
    b = a;
    a = mixed + more;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  State state = fractions<8>([](long double x) { return std::sqrt(x); });
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  for (std::size_t i = 0; i < whole; i += kBlock) add_block(state, bytes.data() + i);
  std::string end(bytes.substr(whole));
  end += '\x80';
  while (end.size() % kBlock != kBlock - 8) end += '\0';
  const std::uint64_t bits = 8 * std::uint64_t{bytes.size()};
  for (int shift = 56; shift >= 0; shift -= 8) end += static_cast<char>(bits >> shift);
  for (std::size_t i = 0; i < end.size(); i += kBlock) add_block(state, end.data() + i);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15U];
  }
  return text;
}

}  // namespace fluidcore
