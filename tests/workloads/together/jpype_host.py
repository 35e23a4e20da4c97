# SPDX-License-Identifier: MIT
"""Python with a virtual machine, by JPype: jpype_host.py CLASSES SECONDS. Prints as together.py does."""

import sys

import jpype
import together

jpype.startJVM(classpath=[sys.argv[1]], convertStrings=False)
JAVA = jpype.JClass("Together")


@jpype.JImplements("Together$Call")
class Call:
    @jpype.JOverride
    def call(self, rounds):
        return together.python_leaf(rounds)


CALL = Call()


def java_part():
    return JAVA.spin(8000000)


def through_part():
    return JAVA.through(CALL, 60000)


together.spend(float(sys.argv[2]), {"java": java_part, "through": through_part})
