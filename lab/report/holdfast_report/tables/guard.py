# SPDX-License-Identifier: MIT
"""Ways to survive a fault, where there is none."""

from ..family import Family


class Guard(Family):
    name = "guard"
    order = 180
    about = (
        "A copy that meets no fault, and other ways to survive one: sigsetjmp before memcpy, process_vm_readv on"
        " oneself, and a pipe that is written and read. copy_safe asks at each call whether a fault could be taken,"
        " and reads by process_vm_readv where it could not."
    )
    other_contract = {
        "copy_safe": "works where no fault can be taken",
        "copy_safe, SIGSEGV blocked": "works where no fault can be taken",
    }


TABLE = Guard()
