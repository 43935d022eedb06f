"""Items of arrays in kernels, with less code than numba makes of them.

numba copies an array's fields to the stack wherever a kernel reads or writes an item, and computes
the strides of views; most of that is left out by LLVM, which takes a third of the time to compile.
Here an item of a contiguous array, or a row, is what its data, its shape and the indices lead to.
All else is left to numba, and so is the check of indices (NUMBA_BOUNDSCHECK).
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.arraydecl import GetItemBuffer, SetItemBuffer
from numba.core.typing.templates import infer_global
from numba.extending import lower_builtin
from numba.np import arrayobj

# numba asks many other templates for the type of an item before those for arrays, which takes a
# twentieth of the time to compile. Templates for processors come before those for any target.
for _operator, _template in (operator.getitem, GetItemBuffer), (operator.setitem, SetItemBuffer):
    infer_global(_operator)(type("_OfItem", (_template,), {"metadata": {"target": "cpu"}}))


@lower_builtin(operator.getitem, types.Array, types.Integer)
def _item(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array, index = signature.args
    if not _is_simple(context, array, [index]):
        return arrayobj.getitem_arraynd_intp(context, builder, signature, given)
    return _read(context, builder, signature, given[0], [index], [given[1]])


@lower_builtin(operator.getitem, types.Array, types.BaseTuple)
def _item_of_axes(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array, indices = signature.args
    if not _is_simple(context, array, indices.types):
        return arrayobj.getitem_array_tuple(context, builder, signature, given)
    values = [builder.extract_value(given[1], i) for i in range(len(indices.types))]
    return _read(context, builder, signature, given[0], indices.types, values)


@lower_builtin(operator.setitem, types.Array, types.Integer, types.Any)
@lower_builtin(operator.setitem, types.Array, types.BaseTuple, types.Any)
def _set_item(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array, index, item = signature.args
    is_tuple = isinstance(index, types.BaseTuple)
    indices = index.types if is_tuple else [index]
    if not _is_simple(context, array, indices) or len(indices) < array.ndim:
        return arrayobj.setitem_array(context, builder, signature, given)
    values = [given[1]]
    if is_tuple:
        values = [builder.extract_value(given[1], i) for i in range(len(indices))]
    address, _ = _address(context, builder, array, given[0], indices, values)
    value = context.cast(builder, given[2], item, array.dtype)
    context.pack_value(builder, array.dtype, value, address)
    return context.get_dummy_value()


def _is_simple(context: Any, array: Any, indices: Any) -> bool:
    """Whether indices of a contiguous array of numbers are integers, and are not checked."""
    return (
        array.layout == "C"
        and array.aligned
        and isinstance(array.dtype, types.Number | types.Boolean)
        and 0 < len(indices) <= array.ndim
        and all(isinstance(each, types.Integer) for each in indices)
        and not context.enable_boundscheck
    )


def _address(
    context: Any, builder: Any, array: Any, value: Any, indices: Any, values: Any
) -> tuple[Any, list[Any]]:
    """Return where an item is, or a row's first one, and the array's shape."""
    model = context.data_model_manager[array]
    of_axes = model.get(builder, value, "shape")
    shape = [builder.extract_value(of_axes, i) for i in range(array.ndim)]
    place = None
    for i in range(array.ndim):
        if i < len(indices):
            kind = types.intp if indices[i].signed else types.uintp
            index = context.cast(builder, values[i], indices[i], kind)
            if indices[i].signed and not _is_positive(index):
                is_negative = builder.icmp_signed("<", index, index.type(0))
                index = builder.select(is_negative, builder.add(index, shape[i]), index)
            place = index if place is None else builder.add(builder.mul(place, shape[i]), index)
        else:
            place = builder.mul(place, shape[i])
    return builder.gep(model.get(builder, value, "data"), [place]), shape


def _is_positive(index: Any) -> bool:
    return isinstance(index, ir.Constant) and index.constant >= 0


def _read(context: Any, builder: Any, signature: Any, value: Any, indices: Any, values: Any) -> Any:
    """Return an item, or the row of which the indices are the first."""
    array, result = signature.args[0], signature.return_type
    address, shape = _address(context, builder, array, value, indices, values)
    if not isinstance(result, types.Array):
        item = context.unpack_value(builder, array.dtype, address)
        return impl_ret_borrowed(context, builder, result, item)
    model, axes = context.data_model_manager[array], range(len(indices), array.ndim)
    of_row, strides = context.data_model_manager[result], model.get(builder, value, "strides")
    n_items = shape[-1]
    for i in axes[:-1]:
        n_items = builder.mul(n_items, shape[i])
    fields = {
        "meminfo": model.get(builder, value, "meminfo"),
        "parent": model.get(builder, value, "parent"),
        "nitems": n_items,
        "itemsize": model.get(builder, value, "itemsize"),
        "data": address,
        "shape": _packed(builder, [shape[i] for i in axes]),
        "strides": _packed(builder, [builder.extract_value(strides, i) for i in axes]),
    }
    row = ir.Constant(of_row.get_value_type(), ir.Undefined)
    for name, field in fields.items():
        row = of_row.set(builder, row, field, name)
    return impl_ret_borrowed(context, builder, result, row)


def _packed(builder: Any, values: list[Any]) -> Any:
    """Return an array of LLVM's with some values."""
    packed = ir.Constant(ir.ArrayType(values[0].type, len(values)), ir.Undefined)
    for i, value in enumerate(values):
        packed = builder.insert_value(packed, value, i)
    return packed
