#pragma once

#include <cstdint>
#include <memory>

namespace fluidcore {

// Counts the changes of a program; shared by the program and everything in it.
using Revision = std::shared_ptr<std::uint64_t>;

// The link of an operator or a variable to the revision of the program it belongs to. A copy of
// the operator belongs to no program until it is added to one, so copies are not linked.
class RevisionLink {
 public:
  RevisionLink() = default;
  RevisionLink(const RevisionLink& /*other*/) {}
  RevisionLink(RevisionLink&& /*other*/) noexcept {}
  RevisionLink& operator=(const RevisionLink& other) {
    if (this != &other) touch();
    return *this;
  }
  RevisionLink& operator=(RevisionLink&& other) noexcept { return *this = other; }
  ~RevisionLink() = default;

  void link(Revision revision) { revision_ = std::move(revision); }
  void touch() const {
    if (revision_) ++*revision_;
  }

 private:
  Revision revision_;
};

}  // namespace fluidcore
