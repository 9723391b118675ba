"""KeyboardInterrupt at the n-th bytecode of a call: what Ctrl-C does, at a moment that can be chosen."""

import sys
from itertools import count


def interrupted(call, modules, at):
    """Run `call()` and raise KeyboardInterrupt before the bytecode `at` (counted from 0) of functions of these modules, or called by them.

    Returns whether the call was long enough to be interrupted. Any exception but KeyboardInterrupt is passed on.
    """
    files = {module.__file__ for module in modules}
    steps, raised = count(), []

    def trace_bytecodes(frame, event, arg):
        if event == "opcode" and next(steps) == at:
            raised.append(at)  # not the frame, which would keep its files open
            raise KeyboardInterrupt
        return trace_bytecodes

    def trace(frame, event, arg):
        caller = frame.f_back
        if frame.f_code.co_filename not in files and (caller is None or caller.f_code.co_filename not in files):
            return None
        frame.f_trace_opcodes = True
        return trace_bytecodes

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        assert raised
    finally:
        sys.settrace(before)
    return bool(raised)


def at_every_bytecode(call, modules, check, step=1):
    """Interrupt `call()` at one bytecode after the other, and call `check()` each time, until it runs to its end. Returns how often."""
    n = 0
    while interrupted(call, modules, n * step):
        check()
        n += 1
    return n
