// Scratch memory of one thread, kept from row to row and gone with the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace deepselect::cpu {

// Uninitialised items; grows on demand, losing its contents.
template <typename Item>
class Buffer {
 public:
  Item* reserve(std::int64_t num_items) {
    if (num_items > num_items_) {
      num_items_ = 0;
      items_.reset();  // before the new block: the peak is one block, not two
      items_.reset(new Item[static_cast<std::size_t>(num_items)]);
      num_items_ = num_items;
    }
    return items_.get();
  }
  Item* data() const { return items_.get(); }

 private:
  std::unique_ptr<Item[]> items_;
  std::int64_t num_items_ = 0;
};

}  // namespace deepselect::cpu
