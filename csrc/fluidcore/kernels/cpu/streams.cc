#include "fluidcore/kernels/cpu/streams.h"

#include <algorithm>

#include "fluidcore/base/threads.h"

namespace fluidcore::cpu {

namespace {

template <class T>
const Storage& half_storage() {
  static constexpr Storage kStorage{sizeof(T),
                                    [](Isa isa, std::int64_t size, float* to, const void* from) {
                                      convert_row(isa, size, to, static_cast<const T*>(from));
                                    },
                                    [](Isa isa, std::int64_t size, void* to, const float* from) {
                                      convert_row(isa, size, static_cast<T*>(to), from);
                                    }};
  return kStorage;
}

const std::byte* advanced(const void* data, std::int64_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}
std::byte* advanced(void* data, std::int64_t bytes) {
  return static_cast<std::byte*>(data) + bytes;
}

// `count` times the element of `bytes` bytes: 1, 2, 4 or 8.
void repeat(const void* element, std::int64_t bytes, std::int64_t count, void* to) {
  const auto fill = [=](auto word) {
    std::memcpy(&word, element, sizeof word);
    std::fill_n(static_cast<decltype(word)*>(to), count, word);
  };
  switch (bytes) {
    case 1: return fill(std::uint8_t{});
    case 2: return fill(std::uint16_t{});
    case 4: return fill(std::uint32_t{});
    default: return fill(std::uint64_t{});
  }
}

// The elements [begin, begin + size) of an input as a stream of the type to calculate in. Rows are
// loaded from their first tile on.
const void* load(Isa isa,
                 const Storage& storage,
                 const Stream& in,
                 std::int64_t begin,
                 std::int64_t size,
                 TileMemory& tile) {
  if (!in.repeats) {
    const std::byte* from = advanced(in.data, begin * storage.bytes);
    if (storage.load == nullptr) return from;
    storage.load(isa, size, reinterpret_cast<float*>(tile.data()), from);
  } else if (begin == 0 && storage.load == nullptr) {
    repeat(in.data, storage.bytes, size, tile.data());
  } else if (begin == 0) {
    float number = 0;
    storage.load(isa, 1, &number, in.data);
    repeat(&number, sizeof number, size, tile.data());
  }
  return tile.data();
}

}  // namespace

const Storage& storage_of(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> const Storage& {
    using T = typename decltype(tag)::type;
    if constexpr (kIsHalf<T>) {
      return half_storage<T>();
    } else {
      return storage_of<T>();
    }
  });
}

StreamFormula StreamFormula::stored_as(DType dtype) const {
  StreamFormula made = *this;
  made.out = &storage_of(dtype);
  made.in.fill(made.out);
  return made;
}

void calculate_row(
    Isa isa, const StreamFormula& formula, std::int64_t size, void* out, const Stream* in) {
  bool in_tiles = formula.out->store != nullptr;
  std::array<const void*, kMostStreams> from{};
  for (std::size_t k = 0; k < formula.arity; ++k) {
    in_tiles = in_tiles || in[k].repeats || formula.in[k]->load != nullptr;
    from[k] = in[k].data;
  }
  if (!in_tiles) return formula.loop(isa, formula.members.data(), size, out, from.data());
  alignas(64) std::array<TileMemory, kMostStreams> tiles;
  alignas(64) std::array<float, kTile> results;
  for (std::int64_t begin = 0; begin < size; begin += kTile) {
    const std::int64_t count = std::min(kTile, size - begin);
    for (std::size_t k = 0; k < formula.arity; ++k) {
      from[k] = load(isa, *formula.in[k], in[k], begin, count, tiles[k]);
    }
    std::byte* const to = advanced(out, begin * formula.out->bytes);
    if (formula.out->store == nullptr) {
      formula.loop(isa, formula.members.data(), count, to, from.data());
    } else {
      formula.loop(isa, formula.members.data(), count, results.data(), from.data());
      formula.out->store(isa, count, to, results.data());
    }
  }
}

void run_streams(const StreamFormula& formula,
                 std::int64_t size,
                 void* out,
                 const void* const* in) {
  const Isa isa = cpu_isa();
  parallel_for(size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::array<Stream, kMostStreams> part{};
    for (std::size_t k = 0; k < formula.arity; ++k) {
      part[k].data = advanced(in[k], begin * formula.in[k]->bytes);
    }
    calculate_row(isa, formula, end - begin, advanced(out, begin * formula.out->bytes),
                  part.data());
  });
}

}  // namespace fluidcore::cpu
