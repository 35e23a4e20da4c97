# SPDX-License-Identifier: MIT
"""Runs a second runtime in Python's process, loaded as a library.

    together.py java LIBJVM CLASSES SECONDS     Java methods, and one that calls Python back
    together.py ruby LIBRUBY SECONDS            Ruby methods, in the main thread
    together.py mapped LIBRUBY SECONDS          Ruby's library, which never starts
    together.py loaded_anew LIBRUBY SECONDS     the same, five times, each at another address

Prints what each part took of the CPU time of the parts, in percent: "name percent" per line.
CLASSES contains Together.class, of Together.java.
"""

import _ctypes
import ctypes
import mmap
import sys
import time

VERSION_1_8 = 0x00010008
# Positions of functions in JNIEnv.
FIND_CLASS, GET_STATIC_METHOD, CALL_STATIC_INT, REGISTER_NATIVES = 6, 113, 131, 215


class Options(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("extra", ctypes.c_void_p)]


class Arguments(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("count", ctypes.c_int),
                ("options", ctypes.POINTER(Options)), ("ignores", ctypes.c_ubyte)]


class Native(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("signature", ctypes.c_char_p), ("code", ctypes.c_void_p)]


def python_leaf(rounds):
    total = 0
    for i in range(rounds):
        total = (total * 31 + i) & 0xffffff
    return total


def called_back(rounds):
    total = python_leaf(rounds)
    time.sleep(0.003)
    return total


def spend(seconds, parts, clock=time.thread_time):
    """Runs the parts in turn, and prints their shares."""
    spent = dict.fromkeys(parts, 0.0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, part in parts.items():
            start = clock()
            part()
            spent[name] += clock() - start
    for name, taken in spent.items():
        print(name, 100 * taken / sum(spent.values()), flush=True)


class Java:
    def __init__(self, library, classes):
        options = (Options * 1)(Options(b"-Djava.class.path=" + classes.encode()))
        arguments = Arguments(VERSION_1_8, 1, options, 0)
        machine = ctypes.c_void_p()
        self.env = ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))()
        if ctypes.CDLL(library).JNI_CreateJavaVM(ctypes.byref(machine), ctypes.byref(self.env),
                                                 ctypes.byref(arguments)):
            sys.exit("cannot start a virtual machine")
        self.type = self.function(FIND_CLASS, ctypes.c_void_p, ctypes.c_char_p)(
            self.env, b"Together")

    def function(self, position, result, *arguments):
        """Calls keep the GIL: the thread that runs Java is the one that holds it."""
        return ctypes.PYFUNCTYPE(result, ctypes.c_void_p, *arguments)(self.env[0][position])

    def method(self, name):
        found = self.function(GET_STATIC_METHOD, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p,
                              ctypes.c_char_p)(self.env, self.type, name, b"(I)I")
        call = self.function(CALL_STATIC_INT, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                             ctypes.c_void_p)
        return lambda number: call(self.env, self.type, found,
                                   ctypes.byref(ctypes.c_longlong(number)))

    def give(self, name, function):
        """Makes the Python function a native method."""
        self.given = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                                       ctypes.c_int)(lambda env, type, number: function(number))
        native = Native(name, b"(I)I", ctypes.cast(self.given, ctypes.c_void_p))
        self.function(REGISTER_NATIVES, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
            self.env, self.type, ctypes.byref(native), 1)


def run_java(library, classes, seconds):
    java = Java(library, classes)
    java.give(b"python", called_back)
    spin, through = java.method(b"spin"), java.method(b"through")

    def java_part():
        return spin(8000000)

    def through_part():
        return through(60000)

    def python_part():
        return python_leaf(60000)

    spend(float(seconds), {"java": java_part, "through": through_part, "python": python_part})


def run_ruby(library, seconds):
    ruby = ctypes.PyDLL(library)
    if ruby.ruby_setup():
        sys.exit("cannot start Ruby")
    ruby.rb_eval_string.restype = ctypes.c_void_p
    ruby.rb_eval_string(b"def ruby_leaf(n)\n s = 0\n i = 0\n while i < n\n"
                        b"  s = (s * 31 + i) & 0xffffff\n  i += 1\n end\n s\nend\n")

    def ruby_part():
        ruby.rb_eval_string(b"ruby_leaf(200000)")

    def python_part():
        return python_leaf(60000)

    spend(float(seconds), {"ruby": ruby_part, "python": python_part})


def run_mapped(library, seconds):
    ctypes.CDLL(library)
    while time.process_time() < float(seconds):
        python_leaf(60000)


def run_loaded_anew(library, seconds):
    places, blocks = set(), []
    for _ in range(5):
        loaded = ctypes.CDLL(library)
        places.add(ctypes.cast(loaded.ruby_setup, ctypes.c_void_p).value)
        _ctypes.dlclose(loaded._handle)
        # Leave no gap of the library's size at its place.
        blocks += [mmap.mmap(-1, 1 << 20) for _ in range(64)]
    if len(places) != 5:
        sys.exit("the library was loaded at one address twice")
    run_mapped(library, seconds)


if __name__ == "__main__":
    {"java": run_java, "ruby": run_ruby, "mapped": run_mapped,
     "loaded_anew": run_loaded_anew}[sys.argv[1]](*sys.argv[2:])
