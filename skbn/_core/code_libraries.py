"""What numba's compiler does with the code of kernels: less than by default.

By default it makes machine code also of functions that only kernels call, though these are linked
into the kernels before; and it optimises each function by itself before it does so with all that
the function calls. Both took a fifth of the time to compile.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _Library(JITCodeLibrary):
    """The code of a kernel."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave this to the passes over the whole module, which follow."""
        ll_module.data_layout = self._codegen._data_layout


class _InnerLibrary(_Library):
    """The code of a function that only kernels call: no machine code is made of it.

    It is optimised, though: kernels become slower if it is not.
    """

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null pointer: Python cannot call the function."""
        self._ensure_finalized()
        return 0

    codegen = property(lambda self: self)  # numba tells it where Python objects are: see `set_env`

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: there is no machine code that could need them."""


class KernelCompiler(Compiler):
    """The compiler of kernels, and of functions that only kernels call, which have no wrapper."""

    def define_pipelines(self) -> Any:
        """Return numba's own passes, which fill another kind of library."""
        state = self.state
        library = _InnerLibrary if state.flags.no_cpython_wrapper else _Library
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()
