"""Kernels that others call through their address.

LLVM optimises the code of an inner kernel again in each kernel that calls it. A long kernel that
several others call is compiled once instead, and they get its address in one of their arguments.
"""

from typing import Any

from numba import types
from numba.extending import intrinsic

from skbn._core.compile import signature_of


def address_of(kernel: Any) -> int:
    """Return where the code of a kernel is in this process; it is compiled first."""
    kernel.compile(signature_of(kernel))
    compiled = kernel.overloads[signature_of(kernel)]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def by_address(kernel: Any, returned: Any) -> Any:
    """Return what kernels call instead of a kernel: with its address, and then its arguments."""
    kinds = signature_of(kernel)

    @intrinsic
    def call(context: Any, address: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            convention, (address, packed) = context.call_conv, values
            arguments = [builder.extract_value(packed, i) for i in range(len(kinds))]
            place = convention.get_function_type(returned, kinds).as_pointer()
            function = builder.inttoptr(address, place)
            status, result = convention.call_function(builder, function, returned, kinds, arguments)
            with builder.if_then(status.is_error, likely=False):
                convention.return_status_propagate(builder, status)
            return result

        return returned(types.int64, types.StarArgTuple.from_types(kinds)), generate

    return call
