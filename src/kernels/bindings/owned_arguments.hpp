// Arguments that need memory of their own: lists, and objects that kernels share with Python.
//
// nanobind converts arguments in functions that are noexcept: a list or a shared_ptr that found no memory would end the process. So these
// arguments are Python objects, and are converted where std::bad_alloc becomes a MemoryError.
#pragma once
#include "bindings/bindings.hpp"

namespace sapwood {

template <class T>
using ListOf = nb::typed<nb::list, T>;

// The items of a list.
template <class T>
std::vector<T> to_vector(const nb::list& list) {
  std::vector<T> items;
  items.reserve(list.size());
  for (nb::handle item : list) {
    T value;
    if (!nb::try_cast<T>(item, value)) throw nb::type_error("an item of a list has the wrong type");
    items.push_back(std::move(value));
  }
  return items;
}

// An object that Python owns; it lives as long as the pointer.
template <class T>
std::shared_ptr<T> share(nb::handle object) {
  struct Owner {
    nb::object object;
    void operator()(T*) noexcept {
      const nb::gil_scoped_acquire gil;
      object.reset();
    }
  };
  return {nb::inst_ptr<T>(object), Owner{nb::borrow(object)}};
}

}  // namespace sapwood
