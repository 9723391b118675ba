// Signals that arrive while a kernel runs.
#include <pthread.h>

#include "bindings/bindings.hpp"

namespace sapwood {
namespace {

unsigned long main_thread = 0;  // in which Python runs the handlers of signals

void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

InterruptCheck signal_check() { return PyThread_get_thread_ident() == main_thread ? check_signals : nullptr; }

void bind_signals(nb::module_&) {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  // The thread that forks is the main one of the child.
  pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
}

}  // namespace sapwood
