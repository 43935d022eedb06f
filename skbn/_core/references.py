"""Named tuples of arrays that kernels get by reference.

numba passes a tuple by value: an array with two axes is nine arguments of each function that gets
the tuple, and all of them are copied, and counted as references, wherever it is passed on. That is
most of what LLVM has to compile, and much of the time of short functions.

Kernels do not count references to the fields: whoever calls a kernel keeps the tuple. So no kernel
returns an array of such a tuple, or a part of one.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.arraydecl import GetItemBuffer, SetItemBuffer
from numba.core.typing.templates import AttributeTemplate, infer_getattr, infer_global
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox


class Reference(types.Type):
    """The type of a named tuple whose address is passed. A kernel reads fields, by name only.

    `kind`: the class of the named tuple
    `fields`: numba types
    """

    def __init__(self, kind: type, fields: tuple[Any, ...]) -> None:
        self.kind, self.fields = kind, dict(zip(kind._fields, fields, strict=True))  # type: ignore[attr-defined]
        super().__init__(f"{kind.__module__}.{kind.__name__}{fields}")


def pass_by_reference(kind: type) -> None:
    """Let kernels that Python calls take instances of a class of named tuples by reference."""

    @typeof_impl.register(kind)
    def _(value: Any, context: Any) -> Reference:
        return Reference(kind, tuple(typeof_impl(each, context) for each in value))


@register_model(Reference)
class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, reference: Reference) -> None:
        fields = [manager.lookup(each).get_value_type() for each in reference.fields.values()]
        super().__init__(manager, reference, ir.LiteralStructType(fields).as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        return reference.fields.get(name)


@lower_getattr_generic(Reference)
def _load_field(context: Any, builder: Any, reference: Reference, address: Any, name: str) -> Any:
    """Load a field, which LLVM may do once before a loop: kernels cannot set fields."""
    place = list(reference.fields).index(name)
    field = builder.load(cgutils.gep_inbounds(builder, address, 0, place))
    zero, one = (ir.Constant(ir.IntType(64), each) for each in (0, 1))
    kind = builder.module.add_metadata(["field", builder.module.add_metadata(["skbn"]), zero])
    field.set_metadata("tbaa", builder.module.add_metadata([kind, kind, zero, one]))  # constant
    if isinstance(reference.fields[name], types.Array):  # no counter of references
        field = builder.insert_value(field, ir.Constant(cgutils.voidptr_t, None), 0)
    return impl_ret_borrowed(context, builder, reference.fields[name], field)


@unbox(Reference)
def _unbox(reference: Reference, value: Any, c: Any) -> NativeValue:
    """Write the fields to the stack, and release their arrays after the call."""
    struct = cgutils.alloca_once(c.builder, c.context.get_value_type(reference).pointee)
    is_error, natives = cgutils.false_bit, []
    for i, field in enumerate(reference.fields.values()):
        item, place = c.pyapi.tuple_getitem(value, i), cgutils.gep_inbounds(c.builder, struct, 0, i)
        if isinstance(field, types.Array):  # needs no check: numba has found the fields' types
            c.pyapi.nrt_adapt_ndarray_from_python(item, c.builder.bitcast(place, cgutils.voidptr_t))
            native = NativeValue(c.builder.load(place))
        else:
            native = c.unbox(field, item)
            c.builder.store(native.value, place)
        is_error = c.builder.or_(is_error, native.is_error)
        natives.append((field, native))

    def release() -> None:
        for field, native in natives:
            if native.cleanup is not None:
                native.cleanup()
            c.context.nrt.decref(c.builder, field, native.value)

    # Kernels call the fields constant, so LLVM must not see that they were written: an empty piece
    # of assembly, which may read all memory, returns the address. numba does not inline kernels
    # into what unboxes their arguments.
    conceal = ir.FunctionType(struct.type, [struct.type])
    address = c.builder.asm(conceal, "", "=r,0,~{memory}", [struct], True)
    return NativeValue(address, is_error=is_error, cleanup=release)


# numba asks many other templates for the type of an item before those for arrays, which takes a
# twentieth of the time to compile. Templates for processors come before those for any target.
for _operator, _template in (operator.getitem, GetItemBuffer), (operator.setitem, SetItemBuffer):
    infer_global(_operator)(type("_OfItem", (_template,), {"metadata": {"target": "cpu"}}))
