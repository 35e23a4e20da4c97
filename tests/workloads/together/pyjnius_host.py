# SPDX-License-Identifier: MIT
"""Python with a virtual machine, by pyjnius: pyjnius_host.py CLASSES SECONDS. Prints as together.py does."""

import sys

import jnius_config
import together

jnius_config.set_classpath(sys.argv[1])
from jnius import PythonJavaClass, autoclass, java_method  # noqa: E402

JAVA = autoclass("Together")


class Call(PythonJavaClass):
    __javainterfaces__ = ["Together$Call"]

    @java_method("(I)I")
    def call(self, rounds):
        return together.python_leaf(rounds)


CALL = Call()


def java_part():
    return JAVA.spin(8000000)


def through_part():
    return JAVA.through(CALL, 60000)


together.spend(float(sys.argv[2]), {"java": java_part, "through": through_part})
